"""A buyer: pays for requests that are answered with 402, within its policy.

```text
402 with PAYMENT-REQUIRED
  |   host, scheme, network, asset, payee, amount, validity      PaymentRefused: nothing was reserved
  v
reserve     one database transaction: caps of session and day, and that nothing is open for the same request
  |         it counts from here on, whatever happens
  v
sign        with the package x402; fails: given back
  |
store       what the chain will know the payment by
  |
send        the same request with PAYMENT-SIGNATURE; no connection: given back, nothing else is
  v
answer  --- PAYMENT-RESPONSE of success: spent          402 without one: refused, given back
        '-- anything else, or none: unknown             it counts until the seller's status or the chain says
```
"""

import hashlib
import json
import logging
from dataclasses import dataclass
from typing import Any
from urllib.parse import urljoin, urlsplit

from sqlalchemy.exc import SQLAlchemyError
from x402.schemas import PaymentRequired

from foreseal.payments.ledger import LedgerError, Trigger
from foreseal.payments.ledger.identifiers import identifier
from foreseal.payments.typed_data import address
from foreseal.payments.x402.buying.answers import Headers, read_outcome, read_required
from foreseal.payments.x402.buying.channels import Channels
from foreseal.payments.x402.buying.errors import PaymentRefused, Refusal, Rule
from foreseal.payments.x402.buying.policy import Offer, Policy
from foreseal.payments.x402.buying.purchases import Intent, Outcome, Purchases
from foreseal.payments.x402.buying.signing import Signature, Signer
from foreseal.payments.x402.identities import BATCH, UPTO

_log = logging.getLogger(__name__)

_CONFLICT = 409
_LONGEST_URL = 2000
_CAPS = (Rule.PER_SESSION, Rule.PER_DAY, Rule.PER_DEPOSIT)


@dataclass(frozen=True, slots=True)
class Wanted:
    """A request as the application made it."""

    method: str
    url: str
    body: bytes = b""
    idempotency_key: str | None = None
    """Its header Idempotency-Key: what makes two equal requests two."""
    origin: str | None = None
    """The URL that led here by redirects, if another."""

    @property
    def subject(self) -> str:
        """For people: without query and password, which may be secret."""
        parts = urlsplit(self.url)
        return f"{self.method} {parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


@dataclass(frozen=True, slots=True)
class Payment:
    """What was signed for a request."""

    id: str
    """Of the purchase."""
    wanted: Wanted
    required: PaymentRequired
    offer: Offer
    amount: int
    """Units that count for it: a deposit into a channel may be more than the price, a voucher on it counts nothing."""
    signature: Signature
    again: bool = False
    """Whether it is the second one, made with what the seller said of the first."""

    @property
    def headers(self) -> dict[str, str]:
        """To be added to the request."""
        return self.signature.headers


class Buyer:
    """An account that spends within a policy. May be used from any thread; others may share its database."""

    def __init__(self, key: Any, policy: Policy, purchases: Purchases, session: str = "default") -> None:
        """`key` is an account of eth-account, or what else the package `x402` signs with.

        A session goes on under its name when the process is started again. Raises ValueError that names the argument.
        """
        self.policy = policy
        self.purchases = purchases
        self.session = identifier(session, "session")
        self.payer = address(str(key.address), "key")
        self._signer = Signer(key, Channels(purchases.ledger.database, self.payer))

    def pay(self, wanted: Wanted, header: str) -> Payment:
        """Reserve, sign and store what the first offer that the policy allows asks for.

        `header` is PAYMENT-REQUIRED of the answer. Raises `PaymentRefused`, `OutcomeUnknown` and `Unreadable`; nothing
        is reserved then.
        """
        self.policy.check_host(wanted.url, wanted.origin)
        required = read_required(header)
        refusals: list[Refusal] = []
        for offer in self.policy.offers(required.accepts):
            if isinstance(offer, Refusal):
                refusals.append(offer)
                continue
            try:
                return self._sign(wanted, offer, required, again=False)
            except PaymentRefused as error:  # another asset may have something left
                refusals.extend(error.refusals)
        # What a person can change comes first.
        refusals.sort(key=lambda each: each.rule not in _CAPS)
        raise PaymentRefused(tuple(refusals) or (Refusal(Rule.SCHEME, "the seller offers no way to pay"),))

    def answered(self, payment: Payment, status: int, get_header: Headers) -> Payment | None:
        """Take in an answer; None is that it is the application's.

        Otherwise the seller told where the channel really is: the payment that is given is to be presented once more.
        """
        varies = payment.offer.terms.scheme == UPTO
        outcome = read_outcome(payment.amount, varies, status, get_header, self.policy.word)
        try:
            if outcome is not None:
                self.purchases.conclude(payment.id, outcome)
            elif (url := _status_url(payment.wanted, status, get_header)) is not None:
                self.purchases.point(payment.id, url)
            if payment.offer.terms.scheme != BATCH or not self._learn(payment, status, get_header):
                return None
        except (LedgerError, SQLAlchemyError):  # the answer is paid for: it must reach the application
            _log.warning("purchase is left with an unknown outcome", extra={"purchase": payment.id}, exc_info=True)
            return None
        return None if payment.again else self._sign(payment.wanted, payment.offer, payment.required, again=True)

    def unsent(self, payment: Payment) -> None:
        """Give back what was never sent: there was no connection."""
        self.purchases.conclude(payment.id, Outcome(Trigger.UNSENT))

    def _sign(self, wanted: Wanted, offer: Offer, required: PaymentRequired, again: bool) -> Payment:
        reserved: list[tuple[str, int]] = []

        def reserve(amount: int, channel: str | None) -> None:
            if channel is None:
                key = _key(self.payer, self.session, wanted.method, wanted.url, wanted.body, wanted.idempotency_key)
            else:
                key = _key(self.payer, "channel", channel)
            intent = Intent(self.payer, self.session, key, wanted.subject, amount)
            reserved.append((self.purchases.reserve(offer, intent), amount))

        try:
            signature = self._signer.sign(required, offer, reserve)
            if not reserved:  # a voucher asks for nothing that does not count already, however often it is signed
                intent = Intent(self.payer, self.session, None, wanted.subject, 0)
                reserved.append((self.purchases.reserve(offer, intent), 0))
            [(id, amount)] = reserved
            self.purchases.present(id, signature.signed)
        except BaseException:  # also where a thread is told to end: nothing has left
            for id, _ in reserved:
                self.purchases.conclude(id, Outcome(Trigger.UNSENT), unless_presented=True)
            raise
        return Payment(id, wanted, required, offer, amount, signature, again)

    def _learn(self, payment: Payment, status: int, get_header: Headers) -> bool:
        """Take in what the seller says of a channel; whether it corrected what was known of it."""
        try:
            return payment.signature.http.process_payment_result(
                payment.signature.payload, get_header, status
            ).recovered
        except ValueError as error:  # what the seller says makes no sense: the channel stays as it was known
            _log.warning("what the seller says of the channel is not understood: %s", error)
            return False


def _status_url(wanted: Wanted, status: int, get_header: Headers) -> str | None:
    """Where the seller will say what became of a payment, as a Foreseal seller tells it with 409; at its own origin."""
    if status != _CONFLICT or (place := get_header("Location")) is None:
        return None
    try:
        url = urljoin(wanted.url, place)
        return url if urlsplit(url)[:2] == urlsplit(wanted.url)[:2] and len(url) <= _LONGEST_URL else None
    except ValueError:  # no URL
        return None


def _key(*parts: Any) -> str:
    written = json.dumps([hashlib.sha256(each).hexdigest() if isinstance(each, bytes) else each for each in parts])
    return hashlib.sha256(written.encode()).hexdigest()
