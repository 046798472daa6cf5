"""Blocks of an OP chain: from payload attributes and the encodings of transactions to header and receipts."""

from typing import Any, NamedTuple

from optimism.model.attributes import L1AttributesCall
from optimism.model.execution import Execution, FeeContext, execute
from optimism.model.fees import Eip1559Parameters, MeteredBlock, da_footprint, l1_fee, l1_gas_used, next_base_fee
from optimism.model.headers import ConsensusHeader
from optimism.model.programs import MESSAGE_PASSER
from optimism.model.receipts import ConsensusReceipt, logs_bloom, ordered_root
from optimism.model.transactions import DEPOSIT_TYPE, LEGACY, DepositTransaction, SignedFields, decode_transaction
from optimism.model.world import World

BEACON_ROOTS = bytes.fromhex("000f3df6d732807ef1319fb7b8bb8522d0beac02")
BLOCK_HASHES = bytes.fromhex("0000f90827f1c53a10cb7a02335b175320002935")
RING = 8191


class BlockAttributes(NamedTuple):
    """Payload attributes apart from the transactions. Without `eip1559`, the genesis' parameters count."""

    timestamp: int
    prev_randao: bytes
    fee_recipient: bytes
    parent_beacon_root: bytes
    gas_limit: int
    eip1559: tuple[int, int] | None
    min_base_fee: int


class ModelBlock(NamedTuple):
    """A block that the model built: `world` is the state after it."""

    header: ConsensusHeader
    transactions: tuple[bytes, ...]
    executions: tuple[Execution, ...]
    world: World

    def receipts(self) -> list[ConsensusReceipt]:
        """Return the receipts of the receipts root."""
        return _receipts(self.transactions, self.executions)

    def block_value(self) -> int:
        """Return the sum of the tips."""
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
        operator = {"operatorFeeScalar": l1.operator_fee_scalar, "operatorFeeConstant": l1.operator_fee_constant}
        fields = {
            "l1Fee": l1_fee(raw, l1),
            "l1GasUsed": l1_gas_used(raw),
            "l1GasPrice": l1.base_fee,
            "l1BlobBaseFee": l1.blob_base_fee,
            "l1BaseFeeScalar": l1.base_fee_scalar,
            "l1BlobBaseFeeScalar": l1.blob_base_fee_scalar,
            "blobGasUsed": da_footprint(raw, l1),
            "daFootprintGasScalar": l1.da_footprint_scalar,
        }
        return fields | (operator if any(operator.values()) else {})


def base_fee_after(parent: ConsensusHeader) -> int:
    """Return the base fee of the next block."""
    metered = (parent.base_fee, parent.gas_limit, parent.gas_used, parent.blob_gas_used)
    return next_base_fee(MeteredBlock(*metered, parent.extra_data))


class ModelChain:
    """A chain from a genesis in geth's format."""

    def __init__(self, genesis: dict[str, Any], parent_hash: bytes = bytes(32)) -> None:
        world = World.from_genesis(genesis["alloc"])
        extra_data = bytes.fromhex(genesis["extraData"][2:])
        self.defaults = Eip1559Parameters.decode(extra_data)
        header = ConsensusHeader(
            parent_hash=parent_hash,
            fee_recipient=bytes.fromhex(genesis["coinbase"][2:]),
            state_root=world.root(),
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
            withdrawals_root=world.storage_root(MESSAGE_PASSER),
            blob_gas_used=0,
            parent_beacon_root=bytes(32),
        )
        self.genesis = ModelBlock(header, (), (), world)

    def build(
        self, parent: ModelBlock, attributes: BlockAttributes, transactions: list[bytes], observed_gas: list[int]
    ) -> ModelBlock:
        """Return the block after `parent`. `observed_gas` counts for contracts whose gas the model does not know."""
        world, number = parent.world.copy(), parent.header.number + 1
        self._begin(world, parent, attributes)
        l1 = _attributes(tuple(transactions))
        fees = FeeContext(base_fee_after(parent.header), attributes.fee_recipient, l1)
        pairs = zip(transactions, observed_gas, strict=True)
        executions = tuple(execute(raw, world, fees, observed) for raw, observed in pairs)
        receipts = _receipts(tuple(transactions), executions)
        denominator, elasticity = attributes.eip1559 or self.defaults[:2]
        header = ConsensusHeader(
            parent_hash=parent.header.hash(),
            fee_recipient=attributes.fee_recipient,
            state_root=world.root(),
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
            withdrawals_root=world.storage_root(MESSAGE_PASSER),
            blob_gas_used=sum(da_footprint(raw, l1) for raw in transactions if raw[0] != DEPOSIT_TYPE),
            parent_beacon_root=attributes.parent_beacon_root,
        )
        return ModelBlock(header, tuple(transactions), executions, world)

    @staticmethod
    def _begin(world: World, parent: ModelBlock, attributes: BlockAttributes) -> None:
        """Run the system calls of EIP-4788 and EIP-2935."""
        slot = attributes.timestamp % RING
        world.store(BEACON_ROOTS, slot, attributes.timestamp)
        world.store(BEACON_ROOTS, slot + RING, int.from_bytes(attributes.parent_beacon_root, "big"))
        world.store(BLOCK_HASHES, parent.header.number % RING, int.from_bytes(parent.header.hash(), "big"))


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
