"""Client side of the batch capture contract, which captures up to 200 authorizations in one transaction.

The logs of a receipt prove each capture: `AuthorizationUsed` of payer and nonce directly before the `Transfer` from the
payer to the contract, and a `Transfer` of the sum from the contract to the merchant. `CaptureFailed` reports an
authorization that the token rejected.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from eth_utils.crypto import keccak

from foreseal.payments.amounts import check_amount
from foreseal.payments.chain.errors import Incomplete
from foreseal.payments.chain.node import BlockTag, ChainLog, ChainReceipt, NodeRequest
from foreseal.payments.chain.token import Transfer, topic_address, transfers
from foreseal.payments.chain.token_reads import number_request
from foreseal.payments.typed_data import ReceiveAuthorization, address

CAPTURE = bytes.fromhex("13fd08ce")
CAPTURE_FROM_WALLETS = bytes.fromhex("9df50e0c")
ERROR_STRING = bytes.fromhex("08c379a0")
TOKEN = bytes.fromhex("fc0c546a")
MERCHANT = bytes.fromhex("a5ff7651")

SIGNATURES = {
    CAPTURE: "capture((address,uint256,uint256,uint256,bytes32,uint8,bytes32,bytes32)[])",
    CAPTURE_FROM_WALLETS: "captureFromWallets((address,uint256,uint256,uint256,bytes32,bytes)[],uint256)",
    ERROR_STRING: "Error(string)",
    TOKEN: "token()",
    MERCHANT: "merchant()",
}
"""Signature of the function or error behind each selector."""

CAPTURE_FAILED = keccak(text="CaptureFailed(address,bytes32,bytes)")
MAX_AUTHORIZATIONS = 200
"""Largest number of authorizations of one call."""
CALL_GAS = 200_000
"""Gas that the contract forwards for each authorization, and the least that `call_gas` may be."""

AuthorizationKey = tuple[str, bytes]
"""Payer, with its EIP-55 checksum, and nonce."""

_SIGNATURE_SIZE = 65
_WORD_SIZE = 32
_ADDRESS_PADDING = bytes(12)
_BYTE_PADDING = bytes(31)
# Upper bounds: base cost and transfer to the merchant, call data without zeros, encoding a call and logging 256 bytes.
_BASE_GAS = 150_000
_GAS_PER_BYTE = 16
_GAS_PER_AUTHORIZATION = 8_000
# Words of the static fields and the offset of the signature, then its length.
_WALLET_HEAD_SIZE = 7 * _WORD_SIZE
_SIGNATURE_OFFSET = (6 * _WORD_SIZE).to_bytes(_WORD_SIZE, "big")


def forwarding_code(token: str, call_gas: int) -> bytes:
    """Return code that calls the token with the call data that it receives, and returns or reverts like the token.

    In a simulation it replaces the code of the contract, which hides why the token rejects an authorization. The token
    sees the same caller, origin and gas as in a transaction.
    """
    target, gas = bytes.fromhex(token.removeprefix("0x")), call_gas.to_bytes(4, "big")
    # Copies the call data, calls the token, copies its output; then REVERT, or RETURN after a success.
    return (
        bytes.fromhex("363d3d373d3d363d3d73")
        + target
        + b"\x63"
        + gas
        + bytes.fromhex("f13d600060003e")
        + bytes.fromhex("6031573d6000fd5b3d6000f3")
    )


def token_request(contract: str, block: BlockTag) -> NodeRequest[str]:
    """Request the token that a batch capture contract captures."""
    return number_request(contract, TOKEN, block).map(_to_address)


def merchant_request(contract: str, block: BlockTag) -> NodeRequest[str]:
    """Request the account that may call a batch capture contract, and that it pays."""
    return number_request(contract, MERCHANT, block).map(_to_address)


def _to_address(word: int) -> str:
    return topic_address(word.to_bytes(_WORD_SIZE, "big"))


def batch_capture_call(
    authorizations: Sequence[ReceiveAuthorization], signatures: Sequence[bytes], call_gas: int | None = None
) -> bytes:
    """Return the call data that captures authorizations, each with its signature, in this order.

    The payee of all is the contract. The shorter form, `capture`, serves signatures of 65 bytes (r, s, v). If any
    signature has another length or `call_gas` is given, the form is `captureFromWallets`, which forwards `call_gas` for
    each authorization, by default `CALL_GAS`. Raises ValueError for arguments that the contract rejects.
    """
    if not 1 <= len(authorizations) <= MAX_AUTHORIZATIONS:
        raise ValueError(f"authorizations: must be 1 to {MAX_AUTHORIZATIONS}, got {len(authorizations)}")
    if len(signatures) != len(authorizations):
        raise ValueError(f"signatures: must be {len(authorizations)}, one per authorization, got {len(signatures)}")
    payee = authorizations[0].payee
    if any(each.payee != payee for each in authorizations):
        raise ValueError("authorizations: must all have the contract as their payee")
    if call_gas is None and all(len(signature) == _SIGNATURE_SIZE for signature in signatures):
        return _capture_call(authorizations, signatures)
    call_gas = CALL_GAS if call_gas is None else check_amount(call_gas, "call_gas")
    if call_gas < CALL_GAS:
        raise ValueError(f"call_gas: must be at least {CALL_GAS}, got {call_gas}")
    return _wallet_call(authorizations, signatures, call_gas)


def max_batch_gas(data: bytes) -> int:
    """Return a gas limit with which a call of `batch_capture_call` cannot run out of gas.

    It suffices even if every payer consumes all of the gas that it receives. For more than 78 authorizations it exceeds
    16,777,216, the most that a transaction may have by EIP-7825. Raises ValueError for other call data.
    """
    if data[:4] == CAPTURE:
        call_gas, size = CALL_GAS, int.from_bytes(data[36:68], "big")
    elif data[:4] == CAPTURE_FROM_WALLETS:
        call_gas, size = int.from_bytes(data[36:68], "big"), int.from_bytes(data[68:100], "big")
    else:
        raise ValueError("data: must be a call of the batch capture")
    # The last call needs a 64th more than it receives (EIP-150).
    return _BASE_GAS + _GAS_PER_BYTE * len(data) + size * (call_gas + _GAS_PER_AUTHORIZATION) + call_gas // 63


def _capture_call(authorizations: Sequence[ReceiveAuthorization], signatures: Sequence[bytes]) -> bytes:
    parts = [CAPTURE, _uint256(_WORD_SIZE), _uint256(len(authorizations))]
    for signed, signature in zip(authorizations, signatures, strict=True):
        parts += (_terms(signed), _BYTE_PADDING, signature[64:], signature[:64])
    return b"".join(parts)


def _wallet_call(authorizations: Sequence[ReceiveAuthorization], signatures: Sequence[bytes], call_gas: int) -> bytes:
    offsets: list[bytes] = []
    tails: list[bytes] = []
    offset = _WORD_SIZE * len(authorizations)
    for signed, signature in zip(authorizations, signatures, strict=True):
        padding = bytes(-len(signature) % _WORD_SIZE)
        offsets.append(_uint256(offset))
        tails += (_terms(signed), _SIGNATURE_OFFSET, _uint256(len(signature)), signature, padding)
        offset += _WALLET_HEAD_SIZE + len(signature) + len(padding)
    head = (CAPTURE_FROM_WALLETS, _uint256(2 * _WORD_SIZE), _uint256(call_gas), _uint256(len(authorizations)))
    return b"".join((*head, *offsets, *tails))


def _terms(signed: ReceiveAuthorization) -> bytes:
    """Encode the terms without the payee, which the contract fills in."""
    return b"".join(
        (
            _ADDRESS_PADDING,
            bytes.fromhex(signed.payer[2:]),
            signed.value.to_bytes(_WORD_SIZE, "big"),
            signed.valid_after.to_bytes(_WORD_SIZE, "big"),
            signed.valid_before.to_bytes(_WORD_SIZE, "big"),
            signed.nonce,
        )
    )


def _uint256(number: int) -> bytes:
    return number.to_bytes(_WORD_SIZE, "big")


@dataclass(frozen=True, slots=True)
class FailedCapture:
    """An authorization of a batch that the token rejected. It may still be usable later."""

    payer: str
    nonce: bytes
    reason: str
    """Text of a revert with Error(string), else the revert data in hexadecimal."""
    data: bytes
    """At most the first 256 bytes of the revert data. Empty if the call ran out of the gas that it received."""
    log: ChainLog


@dataclass(frozen=True, slots=True)
class BatchOutcome:
    """Result of a batch. A batch may list the same authorization twice; then a capture counts, not the failure."""

    captured: Mapping[AuthorizationKey, Transfer]
    """The transfer from each payer to the contract."""
    failed: Mapping[AuthorizationKey, FailedCapture]
    amount: int
    """Sum of the captures, which the merchant received."""


def captured_in_batch(receipt: ChainReceipt, token: str, contract: str, merchant: str) -> BatchOutcome:
    """Return the outcome of a batch from the logs of its receipt. A reverted transaction has no captures.

    Raises `Incomplete` unless the logs are those of a batch whose sum went to the merchant, and ValueError for an
    invalid address.
    """
    token, contract, merchant = address(token, "token"), address(contract, "contract"), address(merchant, "merchant")
    if not receipt.succeeded:
        return BatchOutcome({}, {}, 0)
    captured: dict[AuthorizationKey, Transfer] = {}
    received = forwarded = 0
    for transfer in transfers(receipt, token):
        if transfer.recipient == contract:
            received += transfer.amount
            if transfer.nonce is None or transfer.checkout is not None:
                raise Incomplete(f"{_log_of(transfer.log)}: the batch capture received tokens without an authorization")
            if captured.setdefault((transfer.sender, transfer.nonce), transfer) is not transfer:
                raise Incomplete(f"{_log_of(transfer.log)}: an authorization is captured twice")
        elif transfer.sender == contract:
            forwarded += transfer.amount
            if transfer.recipient != merchant:
                raise Incomplete(f"{_log_of(transfer.log)}: the batch capture paid {transfer.recipient}")
    if received != forwarded:
        raise Incomplete(f"{receipt.transaction_hash}: the batch capture received {received} and forwarded {forwarded}")
    failed: dict[AuthorizationKey, FailedCapture] = {}
    for log in receipt.logs:
        if log.address == contract and log.topics[:1] == (CAPTURE_FAILED,):
            failure = _failure(log)
            if (failure.payer, failure.nonce) not in captured:
                failed.setdefault((failure.payer, failure.nonce), failure)
    if not captured and not failed:
        raise Incomplete(f"{receipt.transaction_hash}: has no logs of the batch capture {contract}")
    return BatchOutcome(captured, failed, received)


def _failure(log: ChainLog) -> FailedCapture:
    """Decode a `CaptureFailed` log. Raises `Incomplete`."""
    data = _bytes_at(log.data)
    if len(log.topics) != 3 or data is None:
        raise Incomplete(f"{_log_of(log)}: is not a CaptureFailed of the batch capture")
    return FailedCapture(topic_address(log.topics[1]), log.topics[2], _reason(data), data, log)


def _reason(data: bytes) -> str:
    if data.startswith(ERROR_STRING) and (text := _bytes_at(data[len(ERROR_STRING) :], truncated=True)):
        # The contract truncates long reasons, possibly within a character.
        return text.decode(errors="replace")
    return "0x" + data.hex() if data else "reverted without a reason, or ran out of its gas"


def _bytes_at(encoded: bytes, *, truncated: bool = False) -> bytes | None:
    """Return the one dynamic value of encoded arguments. None if it is cut short, unless that is accepted."""
    if len(encoded) < 2 * _WORD_SIZE or int.from_bytes(encoded[:_WORD_SIZE], "big") != _WORD_SIZE:
        return None
    size = int.from_bytes(encoded[_WORD_SIZE : 2 * _WORD_SIZE], "big")
    content = encoded[2 * _WORD_SIZE :][:size]
    return content if truncated or len(content) == size else None


def _log_of(log: ChainLog) -> str:
    return f"{log.transaction_hash}, log {log.log_index}"
