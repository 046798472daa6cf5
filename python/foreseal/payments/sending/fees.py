"""What transactions pay (EIP-1559), and how much more a replacement does."""

from dataclasses import dataclass

from foreseal.payments.chain import Head, Node

GWEI = 10**9


@dataclass(frozen=True, slots=True)
class Fees:
    """Limits. Wei per gas, blocks."""

    most: int = 500 * GWEI
    """No transaction offers more per gas."""
    patience: int = 10
    """A transaction that is not on the chain after so many blocks is replaced by one that pays more."""
    gas_percent: int = 125
    """Gas limit, as percentage of the estimate."""


@dataclass(frozen=True, slots=True)
class Quote:
    """Wei per gas."""

    fee: int
    """maxFeePerGas."""
    priority_fee: int
    """maxPriorityFeePerGas."""

    def raised(self, now: "Quote") -> "Quote":
        """What replaces this in a pool: at least 10 % more of both, or what is asked now."""
        priority_fee = max(_raised(self.priority_fee), now.priority_fee)
        return Quote(max(_raised(self.fee), now.fee, priority_fee), priority_fee)


def _raised(fee: int) -> int:
    return max((fee * 110 + 99) // 100, fee + 1)


def quote(node: Node, head: Head) -> Quote:
    """What gets a transaction in even if the base fee doubles meanwhile."""
    priority_fee = node.priority_fee()
    return Quote(2 * head.base_fee + priority_fee, priority_fee)
