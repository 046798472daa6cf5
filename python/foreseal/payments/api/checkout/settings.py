"""Settings of the checkout: payment links, origins, and pages to which shoppers return."""

from dataclasses import dataclass
from typing import Self
from urllib.parse import quote

from foreseal.payments.api.checkout.client_secrets import ClientSecrets
from foreseal.payments.configuration import CheckoutSection
from foreseal.payments.ledger import Database

_MAX_URL_LENGTH = 2_000
# Browsers remove such a segment from a path, also in its encoded form.
_DOT_SEGMENTS = (".", "..")
# A browser reads a backslash as a slash, and removes white space and control characters.
_FORBIDDEN = frozenset('\\"<>`{}|^')


@dataclass(frozen=True, slots=True)
class CheckoutSettings:
    """The section `[checkout]`, with the client secrets of this service."""

    section: CheckoutSection
    secrets: ClientSecrets

    @classmethod
    def load(cls, section: CheckoutSection | None, database: Database) -> Self | None:
        """Return the settings of a section; None without one. Raises the database's errors."""
        return None if section is None else cls(section, ClientSecrets.load(database))

    def payment_link(self, id: str) -> str | None:
        """Return the link to the checkout of an order; None if browsers cannot request its id as a path.

        The client secret is the fragment, which browsers send neither to a server nor as a referrer.
        """
        if id in _DOT_SEGMENTS:
            return None
        return f"{self.section.public_url}/checkout/{quote(id, safe='')}#{self.secrets.secret(id)}"

    def return_url_problem(self, url: str) -> str | None:
        """Return why shoppers must not return to a URL, or None."""
        if len(url) > _MAX_URL_LENGTH:
            return f"must have at most {_MAX_URL_LENGTH} characters"
        if not url.isascii() or not url.isprintable() or " " in url or not _FORBIDDEN.isdisjoint(url):
            return "must be printable ASCII without spaces, quotes and backslashes"
        # An equal beginning with the end of the origin leaves nothing to a parser.
        allowed = (self.section.public_origin, *self.section.origins)
        if not any(url == each or url.startswith((f"{each}/", f"{each}?", f"{each}#")) for each in allowed):
            return f"must begin with an origin of [checkout] in the configuration: {', '.join(allowed)}"
        return None

    def return_url(self, stored: str | None) -> str | None:
        """Return a stored URL if it is still allowed."""
        return None if stored is None or self.return_url_problem(stored) is not None else stored
