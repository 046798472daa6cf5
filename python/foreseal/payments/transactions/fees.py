"""Limits of fees (EIP-1559) and gas, and the increase for a replacement."""

from dataclasses import dataclass

from foreseal.payments.chain import BlockHead, ChainNode

GWEI = 10**9


@dataclass(frozen=True, slots=True)
class FeeSettings:
    """Limits of fees and gas, in wei per gas, gas and blocks."""

    max_fee: int = 500 * GWEI
    """Highest maxFeePerGas that a transaction offers."""
    patience_blocks: int = 10
    """Blocks without inclusion after which a transaction is replaced by one that pays more."""
    gas_percent: int = 125
    """Gas limit as a percentage of the estimate."""
    payer_code_gas: int = 500_000
    """Maximum gas that the code of payers may add to the ordinary gas of a transaction (`ordinary_gas`)."""
    payer_lost_gas: int = 1_200_000
    """Gas within an hour that a payer may cost by reverts: two transactions with the maximum (`LostGas`)."""
    code_lost_gas: int = 12_000_000
    """Gas within an hour that all payers with code together may cost by reverts."""

    def is_code_budget_spent(self, lost_gas: int) -> bool:
        """Return True if payers with code lost so much gas that the rest is less than the code of one may use."""
        return lost_gas > 0 and lost_gas + self.payer_code_gas > self.code_lost_gas


@dataclass(frozen=True, slots=True)
class FeeQuote:
    """Fees in wei per gas."""

    fee: int
    """maxFeePerGas."""
    priority_fee: int
    """maxPriorityFeePerGas."""

    def raised(self, now: "FeeQuote") -> "FeeQuote":
        """Return the fees of a replacement: both at least 10 % higher, and at least the current quote."""
        priority_fee = max(_raised(self.priority_fee), now.priority_fee)
        return FeeQuote(max(_raised(self.fee), now.fee, priority_fee), priority_fee)


def _raised(fee: int) -> int:
    return max((fee * 110 + 99) // 100, fee + 1)


def quote(node: ChainNode, head: BlockHead) -> FeeQuote:
    """Return fees that suffice even if the base fee doubles."""
    priority_fee = node.priority_fee()
    return FeeQuote(2 * head.base_fee + priority_fee, priority_fee)
