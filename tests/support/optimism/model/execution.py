"""Execution of one transaction on a state: deposits as their specification says, signed ones as since London."""

from typing import NamedTuple

import rlp
from eth_hash.auto import keccak

from optimism.model.attributes import L1AttributesCall
from optimism.model.fees import l1_fee, operator_fee
from optimism.model.programs import Effect, effect_of
from optimism.model.receipts import ConsensusLog
from optimism.model.state import ChainState
from optimism.model.transactions import DepositTransaction, SignedFields, Transaction, decode_transaction, minimal
from optimism.predeploys import BASE_FEE_VAULT, DEPOSITOR, L1_BLOCK, L1_FEE_VAULT, OPERATOR_FEE_VAULT


class FeeContext(NamedTuple):
    """Fields of a block on which the fees of its transactions depend. The base fee is in wei per gas."""

    base_fee: int
    fee_recipient: bytes
    attributes: L1AttributesCall


class Execution(NamedTuple):
    """Outcome of a transaction. `nonce` is that of the sender before it, `created` the address of a creation."""

    succeeded: bool
    gas_used: int
    logs: tuple[ConsensusLog, ...]
    nonce: int
    created: bytes | None


def intrinsic_gas(message: Transaction) -> int:
    """Return the gas that a message uses before its execution (EIP-2028, EIP-2930, EIP-3860)."""
    zeros = message.data.count(0)
    gas = 21_000 + 4 * zeros + 16 * (len(message.data) - zeros)
    if message.to is None:
        gas += 32_000 + 2 * -(-len(message.data) // 32)
    if isinstance(message, SignedFields):
        gas += sum(2400 + 1900 * len(slots) for _, slots in message.access_list)
    return gas


def floor_gas(message: Transaction) -> int:
    """Return the minimum gas of a message with this data (EIP-7623)."""
    zeros = message.data.count(0)
    return 21_000 + 10 * (zeros + 4 * (len(message.data) - zeros))


def execute(raw: bytes, state: ChainState, block: FeeContext, observed_gas: int) -> Execution:
    """Apply a transaction. `observed_gas` is used where the model cannot compute the gas of a contract.

    Raise AssertionError if a block cannot contain the transaction.
    """
    message = decode_transaction(raw)
    if isinstance(message, DepositTransaction):
        return _deposit(message, state, observed_gas)
    assert max(intrinsic_gas(message), floor_gas(message)) <= message.gas, "invalid: gas"
    assert message.max_fee >= max(block.base_fee, message.tip), "invalid: fee"
    assert state[message.sender].nonce == message.nonce, "invalid: nonce"
    assert worst_case_cost(raw, message, block.attributes) <= state[message.sender].balance, "invalid: funds"
    # The programs spend nothing but the value, so the fees can be deducted at the end.
    done = _run(message, state, observed_gas)
    price = message.effective_price(block.base_fee)
    fees = {
        BASE_FEE_VAULT: done.gas_used * block.base_fee,
        L1_FEE_VAULT: l1_fee(raw, block.attributes),
        OPERATOR_FEE_VAULT: operator_fee(done.gas_used, block.attributes),
    }
    for vault, fee in fees.items():
        state[vault].balance += fee
    tip = done.gas_used * (price - block.base_fee)
    state[block.fee_recipient].balance += tip
    state[message.sender].balance -= sum(fees.values()) + tip
    return done


def worst_case_cost(raw: bytes, message: SignedFields, attributes: L1AttributesCall) -> int:
    """Return the balance in wei that the sender needs: value and all fees at the gas limit."""
    fees = message.gas * message.max_fee + l1_fee(raw, attributes) + operator_fee(message.gas, attributes)
    return message.value + fees


def _deposit(message: DepositTransaction, state: ChainState, observed_gas: int) -> Execution:
    sender = state[message.sender]
    sender.balance += message.mint
    if message.sender == DEPOSITOR:
        return _set_l1_attributes(message, state, observed_gas)
    starts = message.value <= sender.balance and max(intrinsic_gas(message), floor_gas(message)) <= message.gas
    if starts:
        return _run(message, state, observed_gas)
    # It cannot begin: the mint stays, the nonce counts, and all gas is used.
    nonce, sender.nonce = sender.nonce, sender.nonce + 1
    return Execution(False, message.gas, (), nonce, created_address(message, nonce))


def _set_l1_attributes(message: DepositTransaction, state: ChainState, observed_gas: int) -> Execution:
    assert message.to == L1_BLOCK
    for slot, value in L1AttributesCall.decode(message.data).storage().items():
        if value or slot in state[L1_BLOCK].storage:
            state.store(L1_BLOCK, slot, value)
    nonce = state[DEPOSITOR].nonce
    state[DEPOSITOR].nonce += 1
    return Execution(True, observed_gas, (), nonce, None)


def _run(message: Transaction, state: ChainState, observed_gas: int) -> Execution:
    """Execute code and move the value. The sender has enough balance, and the gas limit covers the intrinsic gas."""
    nonce = state[message.sender].nonce
    state[message.sender].nonce += 1
    created = created_address(message, nonce)
    effect = effect_of(message, state)
    if effect.gas is None:
        assert floor_gas(message) <= observed_gas <= message.gas, observed_gas
        gas_used = observed_gas
    else:
        gas_used = intrinsic_gas(message) + effect.gas
        if intrinsic_gas(message) + max(effect.gas, effect.required_gas) > message.gas:
            effect, gas_used = Effect(succeeded=False, gas=None), message.gas
        gas_used -= min(effect.refund, gas_used // 5)
        gas_used = max(gas_used, floor_gas(message))
    if effect.succeeded:
        target = created or message.to
        assert target is not None
        state[message.sender].balance -= message.value
        state[target].balance += message.value
        if created:
            state[created].nonce, state[created].code = 1, effect.code
        for slot, value in effect.writes:
            state.store(target, slot, value)
    return Execution(effect.succeeded, gas_used, effect.logs if effect.succeeded else (), nonce, created)


def created_address(message: Transaction, nonce: int) -> bytes | None:
    """Return the address of the contract that the message creates, if it is a creation."""
    if message.to is not None:
        return None
    return bytes(keccak(rlp.encode([message.sender, minimal(nonce)])))[12:]
