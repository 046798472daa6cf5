"""Offline verification of pre-confirmation receipts, and evidence that a sequencer broke a commitment.

``foreseal_preconfirmation`` returns a receipt: a transaction, a proof that the header of a step includes it, and the
sequencer's signature of that step. Verification needs only the receipt and the address of the sequencer.
``foreseal_status`` reports that address, but it should come from an independent source.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import orjson

from foreseal._core import preconfirmation_contradiction
from foreseal._core import step_signer as _step_signer
from foreseal._core import verify_preconfirmation as _verify
from foreseal.errors import PreconfirmationError

__all__ = [
    "Contradiction",
    "Evidence",
    "Preconfirmation",
    "PreconfirmationError",
    "contradiction",
    "step_signer",
    "verify_preconfirmation",
]

PreconfirmationReceipt = Mapping[str, Any] | str | bytes
"""A receipt: the object that ``foreseal_preconfirmation`` returns, or its JSON."""

_ADDRESS_BYTES = 20
_QUANTITY = re.compile("0x(0|[1-9a-fA-F][0-9a-fA-F]{0,15})")


@dataclass(frozen=True, slots=True)
class Preconfirmation:
    """Commitment of a receipt: `signer` committed to including the transaction at this position of block `number`."""

    chain_id: int
    number: int
    """Number of the block."""
    index: int
    """Index of the step in its block."""
    hash: str
    """Hash of the step: the hash of the block if it had been sealed then."""
    previous: str
    """Hash of the previous step; of the parent block at index 0."""
    time: int
    """Time of the step in milliseconds since 1970, as reported by the sequencer."""
    timestamp: int
    """Timestamp of the block, seconds since 1970."""
    transaction_hash: str
    transaction_index: int
    """Position of the transaction in its block."""
    signer: str
    """Address of the signer, in lower case."""


class Contradiction(StrEnum):
    """Reason why two commitments exclude each other."""

    TWO_STEPS = "two-steps"
    """Two steps have the same index in the same block."""
    BROKEN_ORDER = "broken-order"
    """A step does not follow the step with the previous index."""
    TWO_TRANSACTIONS = "two-transactions"
    """Two transactions have the same position in the same block."""
    TWO_PLACES = "two-places"
    """One transaction has two positions."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """Two commitments of one signer that cannot both be fulfilled."""

    contradiction: Contradiction
    signer: str
    chain_id: int
    promises: tuple[Preconfirmation, Preconfirmation]
    """In the order of the arguments."""


def verify_preconfirmation(
    receipt: PreconfirmationReceipt, signer: str | None = None, *, chain_id: int | None = None
) -> Preconfirmation:
    """Verify a receipt offline, with `signer` (an address) and `chain_id` also against these.

    Anyone can create a consistent receipt: without `signer` the result only identifies the signer. Raises
    `PreconfirmationError`, which names the field that does not match, and ValueError if `signer` is not an address.
    """
    expected_signer = None if signer is None else _address(signer)
    return Preconfirmation(**orjson.loads(_verify(_json(receipt), expected_signer, chain_id)))


def contradiction(one: PreconfirmationReceipt, other: PreconfirmationReceipt) -> Evidence | None:
    """Return the evidence that two receipts contradict each other.

    Return None if both commitments can be fulfilled, or if their signers or chains differ. Raises
    `PreconfirmationError` for a receipt that is invalid by itself.
    """
    evidence = orjson.loads(preconfirmation_contradiction(_json(one), _json(other)))
    if evidence is None:
        return None
    first, second = (Preconfirmation(**promise) for promise in evidence["promises"])
    return Evidence(Contradiction(evidence["contradiction"]), evidence["signer"], evidence["chain_id"], (first, second))


def step_signer(message: Mapping[str, Any], chain_id: int) -> str:
    """Return the address, in lower case, that signed the step of a feed message.

    `message` may be any mapping with the fields number, index, hash, parent (hash of the previous step), time and
    signature. Any other address than the sequencer's means that someone else signed the step or that the message was
    changed. `hash` is not checked: compute the hash of the header in the message and compare it. Raises
    `PreconfirmationError` for a missing signature or an invalid field.
    """
    promise = (
        _quantity(message, "number"),
        _quantity(message, "index"),
        _data(message, "hash", 32),
        _data(message, "parent", 32),
        _quantity(message, "time"),
    )
    return "0x" + _step_signer(chain_id, promise, _data(message, "signature", 65)).hex()


def _quantity(message: Mapping[str, Any], name: str) -> int:
    text = message.get(name)
    if not isinstance(text, str) or not _QUANTITY.fullmatch(text):
        raise PreconfirmationError(name, f"{text!r} is not a quantity of at most 64 bits")
    return int(text, 16)


def _data(message: Mapping[str, Any], name: str, length: int) -> bytes:
    text = message.get(name)
    if not isinstance(text, str) or not re.fullmatch(f"0x[0-9a-fA-F]{{{2 * length}}}", text):
        raise PreconfirmationError(name, f"{text!r} is not {length} bytes of hex")
    return bytes.fromhex(text[2:])


def _json(receipt: PreconfirmationReceipt) -> bytes:
    if isinstance(receipt, str):
        return receipt.encode()
    if isinstance(receipt, bytes):
        return receipt
    try:
        return orjson.dumps(dict(receipt))
    except (TypeError, ValueError) as error:
        raise PreconfirmationError("receipt", f"not a JSON object: {error}") from None


def _address(text: str) -> bytes:
    try:
        address = bytes.fromhex(text.removeprefix("0x"))
    except ValueError:
        address = b""
    if len(address) != _ADDRESS_BYTES or not text.startswith("0x"):
        raise ValueError(f"signer: {text!r} is not an address: write 0x and 40 hex digits")
    return address
