"""All operations, and the reasons against combinations that make no sense."""

from wallets.kinds import WalletKind
from wallets.operations import Operation
from wallets.order_operations import (
    AcceptUnassigned,
    Cancel,
    CaptureAssigned,
    CaptureByPermit,
    Checkout,
    Pay,
    PayInBulk,
    Refund,
)
from wallets.paid_operations import (
    BuyByChannel,
    BuyExact,
    BuyPermit2,
    BuyRepeatedly,
    BuyUpto,
    SettleDeposit,
    SettleExact,
    SettlePermit2,
    SettleUpto,
)

OPERATIONS: tuple[Operation, ...] = (
    CaptureAssigned(),
    AcceptUnassigned(),
    Checkout(),
    CaptureByPermit(),
    Pay(),
    PayInBulk(),
    Cancel(),
    Refund(),
    SettleExact(),
    SettlePermit2(),
    SettleUpto(),
    SettleDeposit(),
    BuyExact(),
    BuyRepeatedly(),
    BuyPermit2(),
    BuyUpto(),
    BuyByChannel(),
)
NOT_COMBINED = {
    "refund at other entrances": "only the orders of the service have refunds; an x402 seller refunds by a channel",
    "cancel and void at other entrances": "only the service relays cancellations",
    "self-destruction between check and settlement": "EIP-6780: only code of the same transaction can vanish",
}
"""Combinations of operations, entrances and wallets that do not exist."""


def reason_against(operation: Operation, kind: WalletKind, *, is_batched: bool) -> str | None:
    """Return why a combination makes no sense, or None."""
    if operation.only_batched is not None and operation.only_batched is not is_batched:
        return "the batch capture contract takes no part in the operation"
    if (kind.switched is not None or kind.waits) and not operation.runs_code:
        return "no code of the payer runs in the transaction"
    if kind.spends and not operation.moves_tokens:
        return "the operation moves no tokens of the payer"
    return None
