"""Contracts that the model can execute: code, gas, logs and storage of a call, from the Ethereum specification."""

from collections.abc import Callable
from typing import NamedTuple

from eth_hash.auto import keccak

from optimism.model.receipts import ConsensusLog
from optimism.model.state import ChainState
from optimism.model.transactions import Transaction
from optimism.predeploys import MESSAGE_PASSER

IDENTITY = (4).to_bytes(20, "big")
"""The precompiled contract that returns its input."""
STORE_SENTRY = 2301
"""Minimum gas at which SSTORE begins (EIP-2200)."""
ALL_GAS = 1 << 64
"""Gas of code that fails and uses all its gas."""


class Effect(NamedTuple):
    """Outcome of an execution. `gas` is that of code, without intrinsic gas; None if the model cannot compute it."""

    succeeded: bool
    gas: int | None
    required_gas: int = 0
    """Gas without which it fails, if more than `gas`."""
    refund: int = 0
    logs: tuple[ConsensusLog, ...] = ()
    writes: tuple[tuple[int, int], ...] = ()
    code: bytes = b""


class Program(NamedTuple):
    """Code, and the effect of an execution with enough gas."""

    code: bytes
    run: Callable[[Transaction, ChainState], Effect]


def _first_word(message: Transaction) -> bytes:
    return message.data[:32].ljust(32, b"\0")


def _log(message: Transaction, state: ChainState) -> Effect:
    # PUSH0, CALLDATALOAD, PUSH0, PUSH0, LOG1.
    assert message.to is not None
    log = ConsensusLog(message.to, (_first_word(message),), b"")
    return Effect(succeeded=True, gas=2 + 3 + 2 + 2 + 375 + 375, logs=(log,))


def _clear(message: Transaction, state: ChainState) -> Effect:
    # PUSH0, PUSH0, CALLDATALOAD, SSTORE of a cold slot (EIP-2929, EIP-3529).
    assert message.to is not None
    slot = int.from_bytes(_first_word(message), "big")
    if slot in state[message.to].storage:
        return Effect(succeeded=True, gas=7 + 2100 + 2900, refund=4800, writes=((slot, 0),))
    return Effect(succeeded=True, gas=7 + 2100 + 100, required_gas=7 + STORE_SENTRY)


def _set(message: Transaction, state: ChainState) -> Effect:
    # CALLVALUE, PUSH0, CALLDATALOAD, SSTORE of a cold slot.
    assert message.to is not None
    slot = int.from_bytes(_first_word(message), "big")
    before = state[message.to].storage.get(slot, 0)
    if before == message.value:
        return Effect(succeeded=True, gas=7 + 2100 + 100, required_gas=7 + STORE_SENTRY)
    refund = 4800 if before and not message.value else 0
    gas = 7 + 2100 + (2900 if before else 20_000)
    return Effect(succeeded=True, gas=gas, refund=refund, writes=((slot, message.value),))


def _identity(message: Transaction, state: ChainState) -> Effect:
    return Effect(succeeded=True, gas=15 + 3 * -(-len(message.data) // 32))


def _constant(effect: Effect) -> Callable[[Transaction, ChainState], Effect]:
    return lambda message, state: effect


def _withdraw(message: Transaction, state: ChainState) -> Effect:
    """Run `receive` of the predeploy L2ToL1MessagePasser: a withdrawal to the sender, with 100,000 gas on L1."""
    nonce = state[MESSAGE_PASSER].storage.get(1, 0)
    words = [nonce | 1 << 240, int.from_bytes(message.sender, "big"), int.from_bytes(message.sender, "big")]
    words += [message.value, 100_000]
    # ABI: five words, the offset of the empty data, and its length.
    hashed = keccak(b"".join(word.to_bytes(32, "big") for word in [*words, 6 * 32, 0]))
    signature = keccak(b"MessagePassed(uint256,address,address,uint256,uint256,bytes,bytes32)")
    topics = (bytes(signature), *(word.to_bytes(32, "big") for word in words[:3]))
    data = b"".join(word.to_bytes(32, "big") for word in [message.value, 100_000, 4 * 32])
    log = ConsensusLog(MESSAGE_PASSER, topics, data + hashed + bytes(32))
    sent = int.from_bytes(keccak(hashed + bytes(32)), "big")
    return Effect(succeeded=True, gas=None, logs=(log,), writes=((sent, 1), (1, nonce + 1)))


REVERT = Effect(succeeded=False, gas=4)
FAIL = Effect(succeeded=False, gas=ALL_GAS)

CALLED = {
    "stop": Program(bytes.fromhex("00"), _constant(Effect(succeeded=True, gas=0))),
    "revert": Program(bytes.fromhex("5f5ffd"), _constant(REVERT)),
    "invalid": Program(bytes.fromhex("fe"), _constant(FAIL)),
    "loop": Program(bytes.fromhex("5b5f56"), _constant(FAIL)),
    "log": Program(bytes.fromhex("5f355f5fa1"), _log),
    "clear": Program(bytes.fromhex("5f5f3555"), _clear),
    "set": Program(bytes.fromhex("345f3555"), _set),
}
"""Contracts of the genesis by name."""

ADDRESSES = {name: bytes.fromhex("c0de") + bytes(17) + bytes([index]) for index, name in enumerate(CALLED)}
"""Addresses of these contracts."""

CREATED = {
    "nothing": Program(b"", _constant(Effect(succeeded=True, gas=0))),
    "empty": Program(bytes.fromhex("5f5ff3"), _constant(Effect(succeeded=True, gas=4))),
    # Returns one zero byte of memory: 3 gas for a word, 200 for each byte of code.
    "stop": Program(bytes.fromhex("60015ff3"), _constant(Effect(True, 3 + 2 + 3 + 200, code=b"\0"))),
    "revert": Program(bytes.fromhex("5f5ffd"), _constant(REVERT)),
    "invalid": Program(bytes.fromhex("fe"), _constant(FAIL)),
    # Returns 0xef, which no code may begin with (EIP-3541).
    "reserved": Program(bytes.fromhex("60ef5f5360015ff3"), _constant(FAIL)),
}
"""Init code by name."""


def effect_of(message: Transaction, state: ChainState) -> Effect:
    """Return the effect of a message with enough gas. Raise StopIteration for code that no program has."""
    if message.to is None:
        return next(each for each in CREATED.values() if each.code == message.data).run(message, state)
    if message.to == IDENTITY:
        return _identity(message, state)
    if message.to == MESSAGE_PASSER:
        return _withdraw(message, state)
    code = state[message.to].code
    if not code:
        return Effect(succeeded=True, gas=0)
    return next(each for each in CALLED.values() if each.code == code).run(message, state)
