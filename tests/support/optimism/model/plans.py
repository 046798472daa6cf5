"""Random blocks of an OP chain: plans that are independent of a state, and their transactions on a state."""

import random
from enum import StrEnum
from typing import Any, NamedTuple

from eth_account import Account
from eth_utils.hexadecimal import encode_hex
from hypothesis import strategies as st

from optimism.model.attributes import L1_ATTRIBUTES_GAS, L1AttributesCall
from optimism.model.chain import BlockAttributes, ModelBlock, base_fee_after
from optimism.model.execution import floor_gas, intrinsic_gas
from optimism.model.fees import da_footprint
from optimism.model.programs import ADDRESSES, ALL_GAS, CALLED, CREATED, IDENTITY, effect_of
from optimism.model.state import ChainState
from optimism.model.transactions import (
    DepositTransaction,
    SignedFields,
    Transaction,
    attributes_source_hash,
    user_source_hash,
)
from optimism.predeploys import DEPOSITOR, L1_BLOCK, MESSAGE_PASSER, SEQUENCER_FEE_VAULT

KEYS = tuple(bytes([0x50 + index]) * 32 for index in range(3))
SENDERS = tuple(bytes.fromhex(Account.from_key(key).address[2:]) for key in KEYS)
POOR_KEY = bytes([0x60]) * 32
POOR = bytes.fromhex(Account.from_key(POOR_KEY).address[2:])
"""A sender without a balance in the genesis."""
FRESH = tuple(bytes([0xF0 + index]) * 20 for index in range(3))
"""Addresses that the genesis does not have."""
BALANCE = 1 << 120
"""Balance in wei of each sender in the genesis."""
ABOVE_ANY_BALANCE = 1 << 200
WITHDRAWAL_GAS = 400_000
"""More gas than a call of the predeploy L2ToL1MessagePasser uses."""
MAX_TRANSACTION_GAS = 1 << 24
"""Gas limit of a signed transaction (EIP-7825), which applies on Karst."""


class GasChoice(StrEnum):
    """Gas limit of a message, relative to the gas that it needs."""

    PLENTY = "plenty"
    EXACT = "exact"
    ONE_BELOW = "one below"
    SENTRY = "sentry"
    INTRINSIC = "intrinsic"
    BELOW_INTRINSIC = "below intrinsic"
    FLOOR = "floor"
    BELOW_FLOOR = "below floor"
    ZERO = "zero"
    LARGE = "large"


WITHOUT_EXECUTION = (GasChoice.BELOW_INTRINSIC, GasChoice.BELOW_FLOOR, GasChoice.ZERO)
"""Gas limits with which a deposit cannot begin."""


class MessagePlan(NamedTuple):
    """A deposit, or a signed transaction if it has a `key`. `target` is an address, or the name of init code."""

    key: bytes | None
    sender: bytes
    target: bytes | str
    mint: int
    value: int
    gas: GasChoice
    data: bytes
    kind: int
    """EIP-2718 type of a signed transaction; 0 is a legacy one."""
    tip: int
    extra_fee: int
    """Wei per gas by which the maximum fee exceeds the base fee."""
    accessed: int
    """Number of slots in the access list."""


class BlockPlan(NamedTuple):
    """A block on any parent."""

    l1: L1AttributesCall
    seconds: int
    """Time since the parent."""
    fee_recipient: bytes
    prev_randao: bytes
    beacon_root: bytes
    gas_limit: int
    eip1559: tuple[int, int] | None
    """Denominator and elasticity; None for those of the genesis."""
    min_base_fee: int
    """Wei per gas."""
    messages: tuple[MessagePlan, ...]


def genesis_with_programs(genesis: dict[str, Any]) -> dict[str, Any]:
    """Return a genesis with funded senders and the model's contracts added."""
    alloc = dict(genesis["alloc"])
    for address in SENDERS:
        alloc[encode_hex(address)] = {"balance": hex(BALANCE)}
    for name, address in ADDRESSES.items():
        alloc[encode_hex(address)] = {"balance": "0x0", "code": encode_hex(CALLED[name].code)}
    slots = {encode_hex(slot.to_bytes(32)): encode_hex((1).to_bytes(32)) for slot in range(8)}
    for name in ("clear", "set"):
        alloc[encode_hex(ADDRESSES[name])]["storage"] = slots
    return genesis | {"alloc": alloc}


def _noise(seed: int, size: int, chunk: int) -> bytes:
    """Return `size` bytes of random chunks, each followed by zeros or by a copy of earlier data."""
    rng = random.Random(seed)
    data = b""
    while len(data) < size:
        data += rng.randbytes(chunk)
        begin = rng.randrange(len(data))
        data += rng.choice([bytes(chunk), data[begin : begin + rng.randint(1, 400)], b""])
    return data[:size]


WORDS = st.integers(0, 9).map(lambda slot: slot.to_bytes(32, "big"))
DATA = st.one_of(
    st.just(b""),
    st.binary(max_size=80),
    WORDS,
    st.builds(_noise, st.integers(0, 2**32), st.integers(0, 4000), st.integers(1, 300)),
    st.builds(bytes, st.integers(0, 2000)),
)
AMOUNTS = st.one_of(st.sampled_from([0, 0, 1, 10**18]), st.integers(0, 2**64))
# Init code has its own data; a withdrawal has none.
_TARGETS: list[bytes | str] = [*SENDERS, *FRESH, *ADDRESSES.values(), *CREATED, IDENTITY, MESSAGE_PASSER]


@st.composite
def message_plans(draw: st.DrawFn, signed: bool) -> MessagePlan:
    """Return deposits or signed transactions."""
    contracts = [ADDRESSES["stop"], ADDRESSES["revert"]]
    sender = draw(st.sampled_from(SENDERS if signed else [*SENDERS, *FRESH, *contracts]))
    target = draw(st.sampled_from(_TARGETS))
    mint = 0 if signed else draw(AMOUNTS)
    values = st.one_of(AMOUNTS, st.sampled_from([mint, mint + 1, max(mint - 1, 0)]))
    value = draw(values if signed else st.one_of(values, values, st.just(ABOVE_ANY_BALANCE)))
    data = CREATED[target].code if isinstance(target, str) else draw(DATA)
    return MessagePlan(
        key=KEYS[SENDERS.index(sender)] if signed else None,
        sender=sender,
        target=target,
        mint=mint,
        value=value,
        gas=draw(st.one_of(st.just(GasChoice.PLENTY), st.just(GasChoice.PLENTY), st.sampled_from(GasChoice))),
        data=b"" if target == MESSAGE_PASSER else data,
        kind=draw(st.sampled_from([0, 1, 2, 2])),
        tip=draw(st.sampled_from([0, 1, 10**6, 2 * 10**9, 10**11])),
        extra_fee=draw(st.sampled_from([0, 1, 10**9, 10**12])),
        accessed=draw(st.integers(0, 2)),
    )


SCALARS = st.one_of(st.sampled_from([0, 1, 1368, 801_949, 2**32 - 1]), st.integers(0, 2**32 - 1))
L1_FEES = st.one_of(st.sampled_from([0, 1, 7, 10**9, 2**64 - 1]), st.integers(0, 2**70))
L1_CALLS = st.builds(
    L1AttributesCall,
    base_fee_scalar=SCALARS,
    blob_base_fee_scalar=SCALARS,
    sequence_number=st.integers(0, 5),
    timestamp=st.integers(1, 2**33),
    number=st.integers(0, 2**33),
    base_fee=L1_FEES,
    blob_base_fee=L1_FEES,
    block_hash=st.binary(min_size=32, max_size=32),
    batcher_hash=st.binary(min_size=32, max_size=32),
    operator_fee_scalar=st.one_of(st.just(0), SCALARS),
    operator_fee_constant=st.one_of(st.sampled_from([0, 0, 1, 2**64 - 1]), st.integers(0, 2**64 - 1)),
    da_footprint_scalar=st.one_of(st.sampled_from([1, 400, 400, 2**16 - 1]), st.integers(1, 2**16 - 1)),
)
RATIOS = st.tuples(st.integers(1, 1000), st.integers(1, 50))
BLOCKS = st.builds(
    BlockPlan,
    l1=L1_CALLS,
    seconds=st.integers(1, 10_000),
    fee_recipient=st.sampled_from([SEQUENCER_FEE_VAULT, SEQUENCER_FEE_VAULT, FRESH[0], bytes([0xFE]) * 20]),
    prev_randao=st.binary(min_size=32, max_size=32),
    beacon_root=st.one_of(st.just(bytes(32)), st.binary(min_size=32, max_size=32)),
    gas_limit=st.sampled_from([30_000_000, 45_000_000, 60_000_000, 60_000_001]),
    eip1559=st.one_of(st.none(), RATIOS),
    min_base_fee=st.one_of(st.sampled_from([0, 0, 1, 2 * 10**9]), st.integers(0, 2**50)),
    messages=st.builds(
        lambda deposits, signed: (*deposits, *signed),
        st.lists(message_plans(signed=False), max_size=5),
        st.lists(message_plans(signed=True), max_size=6),
    ),
)
CHAINS = st.lists(BLOCKS, min_size=1, max_size=3)
"""Plans of one to three blocks on a genesis."""


class PlannedBlock(NamedTuple):
    """Attributes and transactions of a plan on a parent, as a driver sends them."""

    attributes: BlockAttributes
    transactions: list[bytes]


def plan_on(plan: BlockPlan, parent: ModelBlock, chain_id: int) -> PlannedBlock:
    """Return attributes and transactions after `parent`. Messages that the block has no space for are left out."""
    attributes = BlockAttributes(
        timestamp=parent.header.timestamp + plan.seconds,
        prev_randao=plan.prev_randao,
        fee_recipient=plan.fee_recipient,
        parent_beacon_root=plan.beacon_root,
        gas_limit=plan.gas_limit,
        eip1559=plan.eip1559,
        min_base_fee=plan.min_base_fee,
    )
    source = attributes_source_hash(plan.l1.block_hash, plan.l1.sequence_number)
    first = DepositTransaction(source, DEPOSITOR, L1_BLOCK, 0, 0, L1_ATTRIBUTES_GAS, plan.l1.encode())
    transactions, gas, footprint = [first.encode()], L1_ATTRIBUTES_GAS, 0
    nonces = {sender: parent.state[sender].nonce for sender in (*SENDERS, POOR, *FRESH, *ADDRESSES.values())}
    for index, message in enumerate(plan.messages):
        raw, limit = _encode(message, index, plan, parent, nonces, chain_id)
        size = da_footprint(raw, plan.l1) if message.key else 0
        if gas + limit <= plan.gas_limit and footprint + size <= plan.gas_limit:
            transactions.append(raw)
            nonces[message.sender] += 1
            gas, footprint = gas + limit, footprint + size
    return PlannedBlock(attributes, transactions)


def _encode(
    message: MessagePlan, index: int, plan: BlockPlan, parent: ModelBlock, nonces: dict[bytes, int], chain_id: int
) -> tuple[bytes, int]:
    """Return the encoding and the gas limit."""
    to = message.target if isinstance(message.target, bytes) else None
    if message.key is None:
        source = user_source_hash(plan.l1.block_hash, index)
        deposit = DepositTransaction(source, message.sender, to, message.mint, message.value, 0, message.data)
        limit = _gas_limit(message.gas, deposit, parent.state)
        return deposit._replace(gas=limit).encode(), limit
    accesses = [(FRESH[0], [bytes(32)] * message.accessed)] if message.kind and message.accessed else []
    fee = max(base_fee_after(parent.header), 1) + message.extra_fee
    tip = min(message.tip, fee)
    fields = SignedFields(
        kind=message.kind,
        sender=message.sender,
        nonce=nonces[message.sender],
        max_fee=fee,
        tip=tip,
        gas=0,
        to=to,
        value=message.value,
        data=message.data,
        access_list=accesses,
    )
    minimum = max(intrinsic_gas(fields), floor_gas(fields))
    limit = min(max(_gas_limit(message.gas, fields, parent.state), minimum), MAX_TRANSACTION_GAS)
    return _sign(fields._replace(gas=limit), message.key, chain_id), limit


def _gas_limit(choice: GasChoice, message: Transaction, state: ChainState) -> int:
    """Return a gas limit; the gas of code is estimated on the parent's state."""
    intrinsic, floor = intrinsic_gas(message), floor_gas(message)
    effect = effect_of(message, state)
    used = WITHDRAWAL_GAS if effect.gas is None else 50_000 if effect.gas == ALL_GAS else effect.gas
    needed = max(intrinsic + used, floor)
    if effect.gas is None and (isinstance(message, SignedFields) or choice not in WITHOUT_EXECUTION):
        # Less gas would end the execution somewhere in the predeploy.
        choice = GasChoice.PLENTY
    return {
        GasChoice.PLENTY: needed + 100_000,
        GasChoice.EXACT: needed,
        GasChoice.ONE_BELOW: needed - 1,
        GasChoice.SENTRY: intrinsic + 7 + 2300,
        GasChoice.INTRINSIC: intrinsic,
        GasChoice.BELOW_INTRINSIC: intrinsic - 1,
        GasChoice.FLOOR: floor,
        GasChoice.BELOW_FLOOR: floor - 1,
        GasChoice.ZERO: 0,
        GasChoice.LARGE: 20_000_000,
    }[choice]


def _sign(fields: SignedFields, key: bytes, chain_id: int) -> bytes:
    unsigned: dict[str, Any] = {
        "chainId": chain_id,
        "nonce": fields.nonce,
        "gas": fields.gas,
        "to": fields.to or b"",
        "value": fields.value,
        "data": fields.data,
    }
    if fields.kind == 2:
        unsigned |= {"maxFeePerGas": fields.max_fee, "maxPriorityFeePerGas": fields.tip}
    else:
        unsigned |= {"gasPrice": fields.max_fee}
    if fields.kind:
        listed = fields.access_list
        accesses = [{"address": at, "storageKeys": [encode_hex(slot) for slot in slots]} for at, slots in listed]
        unsigned |= {"type": fields.kind, "accessList": accesses}
    return bytes(Account.from_key(key).sign_transaction(unsigned).raw_transaction)
