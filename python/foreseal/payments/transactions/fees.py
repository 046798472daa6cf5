"""Transaction fees (EIP-1559), and the increase for a replacement."""

from dataclasses import dataclass

from foreseal.payments.chain import Head, Node

GWEI = 10**9


@dataclass(frozen=True, slots=True)
class Fees:
    """Fee limits, in wei per gas and in blocks."""

    most: int = 500 * GWEI
    """Highest maxFeePerGas that a transaction offers."""
    patience: int = 10
    """Blocks without inclusion after which a transaction is replaced by one that pays more."""
    gas_percent: int = 125
    """Gas limit as a percentage of the estimate."""


@dataclass(frozen=True, slots=True)
class Quote:
    """Fees in wei per gas."""

    fee: int
    """maxFeePerGas."""
    priority_fee: int
    """maxPriorityFeePerGas."""

    def raised(self, now: "Quote") -> "Quote":
        """Return the fees of a replacement: both at least 10 % higher, and at least the current quote."""
        priority_fee = max(_raised(self.priority_fee), now.priority_fee)
        return Quote(max(_raised(self.fee), now.fee, priority_fee), priority_fee)


def _raised(fee: int) -> int:
    return max((fee * 110 + 99) // 100, fee + 1)


def quote(node: Node, head: Head) -> Quote:
    """Return fees that suffice even if the base fee doubles."""
    priority_fee = node.priority_fee()
    return Quote(2 * head.base_fee + priority_fee, priority_fee)
