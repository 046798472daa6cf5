"""Names of destinations, and the tokens in whose units amounts are shown."""

from collections.abc import Iterable
from dataclasses import dataclass

from foreseal.payments.configuration import TokenSection


@dataclass(frozen=True, slots=True)
class DestinationLabel:
    """Name, token and accounts of a destination, without its components."""

    name: str
    token: TokenSection
    payee: str
    receivers: tuple[str, ...]
    """Accounts whose incoming transfers are the payee's: its own, and its batch capture contract."""


class DestinationLabels:
    """Labels by token and receiver."""

    def __init__(self, labels: Iterable[DestinationLabel]) -> None:
        self._labels = {(label.token.address, receiver): label for label in labels for receiver in label.receivers}
        self._tokens = {label.token.address: label.token for label in self._labels.values()}

    def find(self, token: str, receiver: str) -> DestinationLabel | None:
        """Return the label of a destination; None if it is not configured."""
        return self._labels.get((token, receiver))

    def token(self, address: str) -> TokenSection | None:
        """Return a token; None if no destination has it."""
        return self._tokens.get(address)
