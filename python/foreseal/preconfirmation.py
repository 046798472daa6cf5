"""Pre-confirmation receipts, checked offline: what a sequencer promised, and evidence that it broke its word.

A receipt is what ``foreseal_preconfirmation`` answers: a transaction, a proof that the header of a step holds it, and
the sequencer's signature of that step. Nothing but the receipt is needed to check it, and the address of the sequencer,
which ``foreseal_status`` names and whoever relies on it should have got from elsewhere.
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

Receipt = Mapping[str, Any] | str | bytes
"""A receipt: the object that the method answers, or its JSON."""

_ADDRESS_BYTES = 20
_QUANTITY = re.compile("0x(0|[1-9a-fA-F][0-9a-fA-F]{0,15})")


@dataclass(frozen=True, slots=True)
class Preconfirmation:
    """What a receipt shows: `signer` promised that block `number` will hold the transaction in this place."""

    chain_id: int
    number: int
    """Number of the block."""
    index: int
    """Index of the step in its block."""
    hash: str
    """Hash of the step: of the block, as if it had been sealed then."""
    previous: str
    """Hash of the step before; of the parent block at index 0."""
    time: int
    """When the step was made, milliseconds since 1970, as the sequencer says."""
    timestamp: int
    """Timestamp of the block, seconds since 1970."""
    transaction_hash: str
    transaction_index: int
    """Position of the transaction in its block."""
    signer: str
    """Address of who signed, in lower case."""


class Contradiction(StrEnum):
    """How two promises exclude each other."""

    TWO_STEPS = "two-steps"
    """Two steps have one index of one block."""
    BROKEN_ORDER = "broken-order"
    """A step does not follow the one that has the index before it."""
    TWO_TRANSACTIONS = "two-transactions"
    """Two transactions have one place of one block."""
    TWO_PLACES = "two-places"
    """One transaction has two places."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """Two promises of one signer that cannot both be kept."""

    contradiction: Contradiction
    signer: str
    chain_id: int
    promises: tuple[Preconfirmation, Preconfirmation]
    """In the order in which they were given."""


def verify_preconfirmation(
    receipt: Receipt, signer: str | None = None, *, chain_id: int | None = None
) -> Preconfirmation:
    """Check a receipt offline. With `signer` (an address) it has to be theirs, with `chain_id` of that chain.

    Anybody can make a receipt that fits itself: without `signer` the result says only who signed. Raises
    `PreconfirmationError` for what does not fit, naming it, and ValueError for a `signer` that is no address.
    """
    wanted = None if signer is None else _address(signer)
    return Preconfirmation(**orjson.loads(_verify(_json(receipt), wanted, chain_id)))


def contradiction(one: Receipt, other: Receipt) -> Evidence | None:
    """What two receipts show together; None if both promises can be kept, or two signers or chains made them.

    Raises `PreconfirmationError` for a receipt that promises nothing by itself.
    """
    found = orjson.loads(preconfirmation_contradiction(_json(one), _json(other)))
    if found is None:
        return None
    first, second = (Preconfirmation(**promise) for promise in found["promises"])
    return Evidence(Contradiction(found["contradiction"]), found["signer"], found["chain_id"], (first, second))


def step_signer(message: Mapping[str, Any], chain_id: int) -> str:
    """Address, in lower case, of who signed the step of a feed's message, or of one that has its fields: number, index,
    hash, parent (of the step before), time and signature.

    Another address than the sequencer's says that somebody else signed it, or that the message was changed. `hash` is
    taken as it stands: whether it is that of the header in the message is for the reader to compute. Raises
    `PreconfirmationError` for a message without a signature or with a field that is not what it should be.
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


def _json(receipt: Receipt) -> bytes:
    if isinstance(receipt, str):
        return receipt.encode()
    if isinstance(receipt, bytes):
        return receipt
    try:
        return orjson.dumps(dict(receipt))
    except (TypeError, ValueError) as error:
        raise PreconfirmationError("receipt", f"it is no JSON object: {error}") from None


def _address(text: str) -> bytes:
    try:
        address = bytes.fromhex(text.removeprefix("0x"))
    except ValueError:
        address = b""
    if len(address) != _ADDRESS_BYTES or not text.startswith("0x"):
        raise ValueError(f"signer: {text!r} is not an address: write 0x and 40 hex digits")
    return address
