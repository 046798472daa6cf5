"""Blocks of an OP chain: from payload attributes and the encodings of transactions to header and receipts."""

from typing import Any, NamedTuple

from optimism.model.attributes import L1AttributesCall
from optimism.model.execution import Execution, FeeContext, execute
from optimism.model.fees import Eip1559Parameters, MeteredBlock, da_footprint, next_base_fee, receipt_fee_fields
from optimism.model.headers import ConsensusHeader
from optimism.model.receipts import ConsensusReceipt, logs_bloom, ordered_root
from optimism.model.state import ChainState
from optimism.model.transactions import DEPOSIT_TYPE, LEGACY, DepositTransaction, SignedFields, decode_transaction
from optimism.predeploys import MESSAGE_PASSER

BEACON_ROOTS = bytes.fromhex("000f3df6d732807ef1319fb7b8bb8522d0beac02")
"""System contract of EIP-4788."""
BLOCK_HASHES = bytes.fromhex("0000f90827f1c53a10cb7a02335b175320002935")
"""System contract of EIP-2935."""
RING_SIZE = 8191
"""Entries in the ring buffers of both contracts."""


class BlockAttributes(NamedTuple):
    """Payload attributes apart from the transactions.

    `eip1559` is denominator and elasticity, None for those of the genesis. `min_base_fee` is in wei per gas.
    """

    timestamp: int
    prev_randao: bytes
    fee_recipient: bytes
    parent_beacon_root: bytes
    gas_limit: int
    eip1559: tuple[int, int] | None
    min_base_fee: int


class ModelBlock(NamedTuple):
    """A block that the model built: `state` is the state after it."""

    header: ConsensusHeader
    transactions: tuple[bytes, ...]
    executions: tuple[Execution, ...]
    state: ChainState

    def receipts(self) -> list[ConsensusReceipt]:
        """Return the receipts of the receipts root."""
        return _receipts(self.transactions, self.executions)

    def block_value(self) -> int:
        """Return the sum of the tips in wei, as `engine_getPayload` reports it."""
        value = 0
        for raw, done in zip(self.transactions, self.executions, strict=True):
            fields = decode_transaction(raw)
            if isinstance(fields, SignedFields):
                value += done.gas_used * (fields.effective_price(self.header.base_fee) - self.header.base_fee)
        return value

    def fee_fields(self, index: int) -> dict[str, int]:
        """Return the fields that an OP chain adds to the JSON of this receipt."""
        raw, l1 = self.transactions[index], _attributes(self.transactions)
        if raw[0] == DEPOSIT_TYPE:
            return {"depositNonce": self.executions[index].nonce, "depositReceiptVersion": 1}
        return receipt_fee_fields(raw, l1)


def base_fee_after(parent: ConsensusHeader) -> int:
    """Return the base fee of the next block, in wei per gas."""
    metered = (parent.base_fee, parent.gas_limit, parent.gas_used, parent.blob_gas_used)
    return next_base_fee(MeteredBlock(*metered, parent.extra_data))


class ModelChain:
    """A chain from a genesis in geth's format."""

    def __init__(self, genesis: dict[str, Any], parent_hash: bytes = bytes(32)) -> None:
        state = ChainState.from_genesis(genesis["alloc"])
        extra_data = bytes.fromhex(genesis["extraData"][2:])
        self.chain_id = int(genesis["config"]["chainId"])
        self.defaults = Eip1559Parameters.decode(extra_data)
        header = ConsensusHeader(
            parent_hash=parent_hash,
            fee_recipient=bytes.fromhex(genesis["coinbase"][2:]),
            state_root=state.root(),
            transactions_root=ordered_root([]),
            receipts_root=ordered_root([]),
            bloom=bytes(256),
            number=0,
            gas_limit=int(genesis["gasLimit"], 16),
            gas_used=0,
            timestamp=int(genesis["timestamp"], 16),
            extra_data=extra_data,
            prev_randao=bytes.fromhex(genesis["mixHash"][2:]),
            base_fee=int(genesis["baseFeePerGas"], 16),
            withdrawals_root=state.storage_root(MESSAGE_PASSER),
            blob_gas_used=0,
            parent_beacon_root=bytes(32),
        )
        self.genesis = ModelBlock(header, (), (), state)

    def build(
        self, parent: ModelBlock, attributes: BlockAttributes, transactions: list[bytes], observed_gas: list[int]
    ) -> ModelBlock:
        """Return the block after `parent`. `transactions` are encodings, the first one the L1 attributes deposit.

        `observed_gas` is the gas of each transaction in a node's receipts; see `execute`.
        """
        state, number = parent.state.copy(), parent.header.number + 1
        self._run_system_calls(state, parent, attributes)
        l1 = _attributes(tuple(transactions))
        fees = FeeContext(base_fee_after(parent.header), attributes.fee_recipient, l1)
        pairs = zip(transactions, observed_gas, strict=True)
        executions = tuple(execute(raw, state, fees, observed) for raw, observed in pairs)
        receipts = _receipts(tuple(transactions), executions)
        denominator, elasticity = attributes.eip1559 or self.defaults[:2]
        header = ConsensusHeader(
            parent_hash=parent.header.hash(),
            fee_recipient=attributes.fee_recipient,
            state_root=state.root(),
            transactions_root=ordered_root(transactions),
            receipts_root=ordered_root([each.encode() for each in receipts]),
            bloom=logs_bloom(tuple(log for done in executions for log in done.logs)),
            number=number,
            gas_limit=attributes.gas_limit,
            gas_used=sum(done.gas_used for done in executions),
            timestamp=attributes.timestamp,
            extra_data=Eip1559Parameters(denominator, elasticity, attributes.min_base_fee).encode(),
            prev_randao=attributes.prev_randao,
            base_fee=fees.base_fee,
            withdrawals_root=state.storage_root(MESSAGE_PASSER),
            blob_gas_used=sum(da_footprint(raw, l1) for raw in transactions if raw[0] != DEPOSIT_TYPE),
            parent_beacon_root=attributes.parent_beacon_root,
        )
        return ModelBlock(header, tuple(transactions), executions, state)

    @staticmethod
    def _run_system_calls(state: ChainState, parent: ModelBlock, attributes: BlockAttributes) -> None:
        """Run the system calls of EIP-4788 and EIP-2935."""
        slot = attributes.timestamp % RING_SIZE
        state.store(BEACON_ROOTS, slot, attributes.timestamp)
        state.store(BEACON_ROOTS, slot + RING_SIZE, int.from_bytes(attributes.parent_beacon_root, "big"))
        state.store(BLOCK_HASHES, parent.header.number % RING_SIZE, int.from_bytes(parent.header.hash(), "big"))


def _attributes(transactions: tuple[bytes, ...]) -> L1AttributesCall:
    return L1AttributesCall.decode(DepositTransaction.decode(transactions[0]).data)


def _receipts(transactions: tuple[bytes, ...], executions: tuple[Execution, ...]) -> list[ConsensusReceipt]:
    receipts, cumulative = [], 0
    for raw, done in zip(transactions, executions, strict=True):
        kind = raw[0] if raw[0] < 0xC0 else LEGACY
        cumulative += done.gas_used
        nonce = done.nonce if kind == DEPOSIT_TYPE else None
        receipts.append(ConsensusReceipt(kind, done.succeeded, cumulative, done.logs, nonce))
    return receipts
