"""A driver that simulates the sequencer of op-node: it opens, seals and abandons blocks of a node."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from eth_utils.hexadecimal import encode_hex

from optimism.deposits import l1_attributes_deposit
from optimism.engine_client import EngineClient
from optimism.genesis import GAS_LIMIT, Fork
from optimism.l1 import L1Attributes, SimulatedL1
from optimism.model.transactions import DepositTransaction
from optimism.predeploys import SEQUENCER_FEE_VAULT

# Seconds between two blocks.
BLOCK_TIME = 1
# Number of L2 blocks of one L1 block.
EPOCH_LENGTH = 2
# Blocks by which `safe` and `finalized` trail the head.
SAFE_DEPTH, FINALIZED_DEPTH = 4, 12

DepositSource = Callable[[L1Attributes], Sequence[DepositTransaction]]
"""Returns the deposits of users in the block with these attributes."""


class BlockId(NamedTuple):
    """A block on the chain of the driver."""

    number: int
    hash: str
    timestamp: int
    """Unix seconds."""

    @classmethod
    def from_payload(cls, payload: dict[str, Any]) -> "BlockId":
        """Return the block of an execution payload."""
        return cls(int(payload["blockNumber"], 16), payload["blockHash"], int(payload["timestamp"], 16))


@dataclass(frozen=True, slots=True)
class Payload:
    """A block that the node builds."""

    id: str
    parent: BlockId
    attributes: dict[str, Any]
    """Payload attributes as JSON."""


class Driver:
    """Builds a chain on one node. It is deterministic, and one thread at a time may use it."""

    def __init__(
        self,
        engine: EngineClient,
        fork: Fork = Fork.JOVIAN,
        deposits: DepositSource = lambda _: (),
        l1: SimulatedL1 | None = None,
        gas_limit: int = GAS_LIMIT,
    ) -> None:
        """`deposits` returns those of users; `gas_limit` is that of every block."""
        self.engine = engine
        self.l1 = l1 or SimulatedL1()
        self.payload: Payload | None = None
        """Block that the node builds."""
        self.chain: list[BlockId] = []
        """Blocks from genesis to the acknowledged head."""
        self.safe = self.finalized = 0
        """Numbers of the safe and the finalized block."""
        self.acknowledged_safe = 0
        """Number of the safe block in the newest fork choice that the node acknowledged."""
        self.finished: dict[str, Any] | None = None
        """Execution payload that the node returned, until its block is acknowledged as the head."""
        self.deposits: set[str] = set()
        """Hashes of the deposits in all attributes so far."""
        self._going_back = False
        self._fork = fork
        self._source = deposits
        self._gas_limit = gas_limit

    @property
    def head(self) -> BlockId:
        """The newest acknowledged block."""
        return self.chain[-1]

    def start(self) -> None:
        """Read the chain of the node and choose its head, as op-node does after its start or that of the node.

        Raise AssertionError if the node's chain does not contain the acknowledged head.
        """
        latest = self._block("latest")
        if self._going_back and latest == self.chain[-2]:
            # The acknowledgement in `go_back` was lost.
            self.chain.pop()
        self._going_back = False
        blocks = [latest]
        while blocks[-1].number > (self.head.number if self.chain else 0):
            blocks.append(self._block(hex(blocks[-1].number - 1)))
        blocks.reverse()
        if self.chain:
            # The acknowledgement of a new head may be lost as well.
            assert blocks[0] == self.head, f"the head {self.head} was acknowledged, the node has {blocks[0]}"
            self.chain += blocks[1:]
        else:
            self.chain = blocks
        self.safe, self.finalized = (self._number(tag) for tag in ("safe", "finalized"))
        self.payload = None
        if self.finished is not None and self.finished["blockHash"] == self.head.hash:
            self.finished = None
        self.choose_head()

    def begin(self) -> Payload:
        """Open the block after the head. The same head and the same L1 give the same attributes."""
        return self._begin(self.next_attributes())

    def begin_without_pool(self, raw: Sequence[str]) -> Payload:
        """Open the block after the head with exactly these transactions after the deposits."""
        attributes = self.next_attributes()
        return self._begin(attributes | {"transactions": [*attributes["transactions"], *raw], "noTxPool": True})

    def finish(self) -> dict[str, Any]:
        """Return the execution payload of the open payload, which gets no further steps (`engine_getPayload`)."""
        assert self.payload is not None
        payload: dict[str, Any] = self.engine(self._fork.get_payload, self.payload.id)["executionPayload"]
        self.finished = payload
        return payload

    def seal(self) -> dict[str, Any]:
        """Make the open payload the head; return its execution payload."""
        self.finish()
        return self.seal_finished()

    def seal_finished(self) -> dict[str, Any]:
        """Make the finished payload the head, also after a restart of the node; return it."""
        block = self.finished
        assert block is not None
        self.engine.import_payload(block, self.next_attributes()["parentBeaconBlockRoot"])
        self.adopt(block)
        self.payload = self.finished = None
        return block

    def adopt(self, block: dict[str, Any]) -> None:
        """Make an imported block the head, whose parent is the head."""
        self.chain.append(BlockId.from_payload(block))
        try:
            self.choose_head()
        except BaseException:
            # Not acknowledged: `start` reads the node's head.
            self.chain.pop()
            raise
        self._advance_safe()

    def abandon(self) -> None:
        """Abandon the open payload and reorganize L1, so that the next block has other attributes."""
        self.payload = self.finished = None
        self.l1.reorganize()

    @property
    def can_go_back(self) -> bool:
        """True if the head is after the safe block."""
        return self.head.number > self.safe

    def go_back(self) -> None:
        """Make the parent of the head the head. Raise AssertionError if the head is safe."""
        assert self.can_go_back
        left, self._going_back = self.chain.pop(), True
        try:
            self.choose_head()
        except BaseException:
            self.chain.append(left)
            raise
        self._going_back = False

    def choose_head(self) -> None:
        """Send the fork choice without attributes."""
        self._choose_head(None)

    def next_attributes(self) -> dict[str, Any]:
        """Return the attributes of the block after the head."""
        number = self.head.number + 1
        origin = self.l1.block(number // EPOCH_LENGTH)
        l1 = L1Attributes(origin, number % EPOCH_LENGTH)
        transactions = [l1_attributes_deposit(l1), *self._source(l1)]
        self.deposits.update(encode_hex(each.hash()) for each in transactions)
        return {
            "timestamp": hex(self.head.timestamp + BLOCK_TIME),
            "prevRandao": encode_hex(origin.randao),
            "suggestedFeeRecipient": encode_hex(SEQUENCER_FEE_VAULT),
            "withdrawals": [],
            "parentBeaconBlockRoot": encode_hex(origin.hash),
            "transactions": [encode_hex(each.encode()) for each in transactions],
            "gasLimit": hex(self._gas_limit),
            "eip1559Params": encode_hex(bytes(8)),
            "minBaseFee": 0,
        }

    def _begin(self, attributes: dict[str, Any]) -> Payload:
        parent, self.finished = self.head, None
        payload_id = self._choose_head(attributes)
        assert payload_id is not None
        self.payload = Payload(payload_id, parent, attributes)
        return self.payload

    def _advance_safe(self) -> None:
        """Move `safe` and `finalized` behind the head; the next fork choice names them."""
        self.safe = max(self.safe, self.head.number - SAFE_DEPTH)
        self.finalized = max(self.finalized, self.head.number - FINALIZED_DEPTH)

    def _choose_head(self, attributes: dict[str, Any] | None) -> str | None:
        hashes = (self.head.hash, self.chain[self.safe].hash, self.chain[self.finalized].hash)
        payload_id = self.engine.choose_head(*hashes, attributes)
        self.acknowledged_safe = self.safe
        return payload_id

    def _block(self, tag: str) -> BlockId:
        return _block_id(self.engine.block(tag))

    def _number(self, tag: str) -> int:
        """Return the number of a block by tag; 0 if the node has none yet."""
        block = self.engine.find_block(tag)
        return 0 if block is None else _block_id(block).number


class PlainDriver(Driver):
    """A driver of a chain that is not an OP chain: without deposits, and with the gas limit of the node."""

    def next_attributes(self) -> dict[str, Any]:
        """Return the attributes of the block after the head."""
        attributes = super().next_attributes()
        names = ("timestamp", "prevRandao", "suggestedFeeRecipient", "withdrawals", "parentBeaconBlockRoot")
        return {name: attributes[name] for name in names}


def _block_id(block: dict[str, Any]) -> BlockId:
    return BlockId(int(block["number"], 16), block["hash"], int(block["timestamp"], 16))
