"""Settings of a merchant: chain, token, account and safety margins."""

from dataclasses import dataclass

from foreseal.payments.amounts import check_amount
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
    batch_capture: str | None = None
    """The merchant's batch capture contract. With it, it is the payee of new orders with one exact amount."""
    min_transfer: int = 1
    """Smallest payment in smallest units: smaller transfers are ignored."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "payee", address(self.payee, "payee"))
        if self.checkout is not None:
            object.__setattr__(self, "checkout", address(self.checkout, "checkout"))
        if self.batch_capture is not None:
            object.__setattr__(self, "batch_capture", address(self.batch_capture, "batch_capture"))
            if self.batch_capture == self.payee:
                raise ValueError("batch_capture: must not be the payee")
        if self.margin < 1:
            raise ValueError(f"margin: must be at least 1 s, got {self.margin}")
        if self.refundable not in set(Finality):
            raise ValueError(f"refundable: {self.refundable} is not a finality")

    def check_payment(self, amount: int, name: str = "amount") -> None:
        """Raise ValueError that begins with `name` for an amount that no payment may have."""
        if check_amount(amount, name) == 0:
            raise ValueError(f"{name}: must not be 0")
        if amount < self.min_transfer:
            raise ValueError(f"{name}: must be at least {self.min_transfer}, the smallest transfer that is recorded")

    @property
    def receiver(self) -> str:
        """Payee of new orders with one exact amount."""
        return self.payee if self.batch_capture is None else self.batch_capture

    @property
    def receivers(self) -> tuple[str, ...]:
        """All accounts whose incoming transfers are the merchant's."""
        return (self.payee,) if self.batch_capture is None else (self.payee, self.batch_capture)
