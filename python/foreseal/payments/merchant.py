"""Settings of a merchant: chain, token, account and safety margins."""

from dataclasses import dataclass

from foreseal.payments.ledger import Finality
from foreseal.payments.typed_data import Domain, address


@dataclass(frozen=True, slots=True)
class Merchant:
    """Configuration that no request can change."""

    domain: Domain
    """Signing domain of the token: name, version, chain and contract."""
    payee: str
    """The merchant's account: receives captures, sends refunds."""
    margin: int = 60
    """Seconds before validBefore at which captures stop."""
    refundable: Finality = Finality.FINAL
    """Minimum finality of a capture before a refund.

    Below FINAL, a reorganization can undo the capture and leave the refund.
    """
    checkout: str | None = None
    """The merchant's checkout contract, for orders whose amount is decided at the capture."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "payee", address(self.payee, "payee"))
        if self.checkout is not None:
            object.__setattr__(self, "checkout", address(self.checkout, "checkout"))
        if self.margin < 1:
            raise ValueError(f"margin: must be at least 1 s, got {self.margin}")
        if self.refundable not in set(Finality):
            raise ValueError(f"refundable: {self.refundable} is not a finality")
