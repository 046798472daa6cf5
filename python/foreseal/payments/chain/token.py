"""Client side of the token: call data and logs (ERC-20, EIP-3009, memo; revert strings as in FiatTokenV2_2)."""

from collections.abc import Sequence
from dataclasses import dataclass

from foreseal.codec import checksum_address, keccak
from foreseal.payments.abi import encode_values, with_bytes, with_lists
from foreseal.payments.chain.node import ChainLog, ChainReceipt
from foreseal.payments.typed_data import Cancellation, TransferMessage

RECEIVE = bytes.fromhex("88b7ab63")
CANCEL = bytes.fromhex("b7b72899")
TRANSFER = bytes.fromhex("a9059cbb")
AUTHORIZATION_STATE = bytes.fromhex("e94a0102")
BALANCE_OF = bytes.fromhex("70a08231")
ALLOWANCE = bytes.fromhex("dd62ed3e")
PAUSED = bytes.fromhex("5c975abb")
IS_BLACKLISTED = bytes.fromhex("fe575a87")
DOMAIN_SEPARATOR = bytes.fromhex("3644e515")
IS_VALID_SIGNATURE = bytes.fromhex("1626ba7e")
SEND_PAYOUTS = bytes.fromhex("f318af5f")
PERMIT_NONCES = bytes.fromhex("7ecebe00")
POLICY_ID = bytes.fromhex("db3de624")
IS_AUTHORIZED = bytes.fromhex("55a1179e")

POLICY_FORBIDS = bytes.fromhex("a43fec12")
"""Selector of the error PolicyForbids(bytes32,uint64), which a holder policy raises."""
SENDER_POLICY = keccak(b"TRANSFER_SENDER_POLICY")
EXECUTOR_POLICY = keccak(b"TRANSFER_EXECUTOR_POLICY")
RECEIVER_POLICY = keccak(b"TRANSFER_RECEIVER_POLICY")
"""Scope, the first word of the error, if a policy forbids the recipient."""
BLACKLISTED = "Blacklistable: account is blacklisted"
"""Revert text for a blacklisted account."""

SIGNATURES = {
    RECEIVE: "receiveWithAuthorization(address,address,uint256,uint256,uint256,bytes32,bytes)",
    CANCEL: "cancelAuthorization(address,bytes32,bytes)",
    TRANSFER: "transfer(address,uint256)",
    AUTHORIZATION_STATE: "authorizationState(address,bytes32)",
    BALANCE_OF: "balanceOf(address)",
    ALLOWANCE: "allowance(address,address)",
    PAUSED: "paused()",
    IS_BLACKLISTED: "isBlacklisted(address)",
    DOMAIN_SEPARATOR: "DOMAIN_SEPARATOR()",
    IS_VALID_SIGNATURE: "isValidSignature(bytes32,bytes)",
    SEND_PAYOUTS: "sendPayouts(bytes32,address[],uint256[])",
    PERMIT_NONCES: "nonces(address)",
    POLICY_ID: "policyId(bytes32)",
    IS_AUTHORIZED: "isAuthorized(uint64,address)",
    POLICY_FORBIDS: "PolicyForbids(bytes32,uint64)",
}
"""Function signature behind each selector."""

TRANSFERRED = keccak(b"Transfer(address,address,uint256)")
AUTHORIZATION_USED = keccak(b"AuthorizationUsed(address,bytes32)")
CANCELED = keccak(b"AuthorizationCanceled(address,bytes32)")
MEMO = bytes.fromhex("6989f5818dcfd11f8cd53b27c94cec33dae1589735f03e639cba54553a1825e8")
PAYMENT_CAPTURED = bytes.fromhex("099bbc1f94190f78ec3955750f0e155226c32f3b3db90885d51f8737c7c0ec76")
PAYOUT_SENT = bytes.fromhex("e50d87119ceb02f3aa30a83e96b007c343e37d38e4f720be35f408d0477995fb")


@dataclass(frozen=True, slots=True)
class Transfer:
    """A transfer from the logs of a receipt, with the authorization, memo or capture in the adjacent log."""

    log: ChainLog
    position: int
    """Index of the Transfer among the transaction's logs.

    With the transaction hash it identifies the transfer in any block.
    """
    sender: str
    recipient: str
    amount: int
    nonce: bytes | None
    """Nonce of the authorization by `sender` that it used.

    For a capture by a checkout: the order's 32-byte id there.
    """
    memo: bytes | None
    checkout: str | None = None
    """Checkout that captured it (PaymentCaptured). `nonce` then belongs to the checkout, not to the token."""


def transfers(receipt: ChainReceipt, token: str) -> list[Transfer]:
    """Return all transfers of a token in a receipt. A reverted transaction has none."""
    if not receipt.succeeded:
        return []
    return [
        _transfer(receipt.logs, position)
        for position, log in enumerate(receipt.logs)
        if log.address == token and len(log.topics) == 3 and log.topics[0] == TRANSFERRED
    ]


def _transfer(logs: Sequence[ChainLog], position: int) -> Transfer:
    log = logs[position]
    before = logs[position - 1] if position else None
    after = logs[position + 1] if position + 1 < len(logs) else None
    nonce = memo = checkout = None
    if (
        before is not None
        and before.address == log.address
        and _is(before, AUTHORIZATION_USED)
        and before.topics[1] == log.topics[1]
    ):
        nonce = before.topics[2]
    if after is not None and after.address == log.address and _is(after, MEMO):
        memo = after.topics[2]
    elif after is not None and nonce is None and _captures(after, log):
        nonce, checkout = after.topics[1], after.address
    sender, recipient = topic_address(log.topics[1]), topic_address(log.topics[2])
    return Transfer(log, position, sender, recipient, log_amount(log), nonce, memo, checkout)


def _captures(after: ChainLog, transfer: ChainLog) -> bool:
    """Return True if a log is the PaymentCaptured of the transfer before it, with the same payer and amount."""
    return (
        _is(after, PAYMENT_CAPTURED) and after.topics[2] == transfer.topics[1] and after.data[:32] == transfer.data[:32]
    )


def _is(log: ChainLog, topic: bytes) -> bool:
    return len(log.topics) == 3 and log.topics[0] == topic


def canceled(receipt: ChainReceipt, token: str, payer: str, nonce: bytes) -> bool:
    """Return True if the receipt's logs show that the authorization was canceled."""
    topics = (CANCELED, address_topic(payer), nonce)
    return receipt.succeeded and any(log.address == token and log.topics == topics for log in receipt.logs)


def payouts_sent(receipt: ChainReceipt, contract: str, batch: bytes) -> list[tuple[str, int]]:
    """Return recipients and amounts of a batch from the logs of a receipt."""
    return [
        (topic_address(log.topics[3]), int.from_bytes(log.data[:32], "big"))
        for log in receipt.logs
        if receipt.succeeded and log.address == contract and log.topics[:2] == (PAYOUT_SENT, batch)
    ]


def log_amount(log: ChainLog) -> int:
    """Return the amount of a Transfer log, in smallest units."""
    return int.from_bytes(log.data[:32], "big")


def topic_address(topic: bytes) -> str:
    """Return the address in a topic."""
    return checksum_address(topic[12:])


def address_topic(address: str) -> bytes:
    """Encode an address as a topic."""
    return bytes(12) + bytes.fromhex(address[2:])


def receive_call(signed: TransferMessage, signature: bytes) -> bytes:
    """Return the call data of receiveWithAuthorization, in the form that also accepts contract signatures."""
    return RECEIVE + with_bytes(*signed.values().values(), tail=signature)


def cancel_call(signed: Cancellation, signature: bytes) -> bytes:
    """Return the call data of cancelAuthorization."""
    return CANCEL + with_bytes(signed.authorizer, signed.nonce, tail=signature)


def transfer_call(recipient: str, amount: int) -> bytes:
    """Return the call data of transfer."""
    return TRANSFER + encode_values(recipient, amount)


def payouts_call(batch: bytes, legs: Sequence[tuple[str, int]]) -> bytes:
    """Return the call data of sendPayouts."""
    recipients, amounts = [leg[0] for leg in legs], [leg[1] for leg in legs]
    return SEND_PAYOUTS + with_lists(batch, lists=(recipients, amounts))
