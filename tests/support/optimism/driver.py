"""A driver that simulates the sequencer of op-node: it opens, seals and abandons blocks of a node."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from live.rpc import RpcFailure
from optimism.deposits import Deposit, l1_attributes_deposit
from optimism.engine_client import EngineClient
from optimism.genesis import GAS_LIMIT, SEQUENCER_FEE_VAULT, Fork
from optimism.l1 import L1Attributes, SimulatedL1

ZERO_HASH = "0x" + "00" * 32
# L2 blocks of one L1 block.
EPOCH = 2
# Blocks by which `safe` and `finalized` trail the head.
SAFE_DEPTH, FINALIZED_DEPTH = 4, 12
_BLOCK_NOT_FOUND = -32000

DepositSource = Callable[[L1Attributes], Sequence[Deposit]]
"""Returns the deposits of users in the block with these attributes."""


class BlockId(NamedTuple):
    """A block on the chain of the driver."""

    number: int
    hash: str
    timestamp: int


@dataclass(frozen=True, slots=True)
class Payload:
    """A block that the node builds."""

    id: str
    parent: BlockId
    attributes: dict[str, Any]


class Driver:
    """Builds a chain on one node. Deterministic, and not for use from several threads."""

    def __init__(
        self,
        engine: EngineClient,
        fork: Fork = Fork.JOVIAN,
        deposits: DepositSource = lambda _: (),
        l1: SimulatedL1 | None = None,
        block_time: int = 1,
        gas_limit: int = GAS_LIMIT,
    ) -> None:
        """`block_time` is in seconds of the chain's clock; `gas_limit` is that of every block."""
        self.engine = engine
        self.l1 = l1 or SimulatedL1()
        self.payload: Payload | None = None
        """The block that the node builds now."""
        self.chain: list[BlockId] = []
        """Blocks that the node acknowledged as the chain of the head, from genesis on."""
        self.safe = self.finalized = 0
        """Numbers of these blocks."""
        self.acknowledged_safe = 0
        """Number of the safe block in the last fork choice that the node acknowledged."""
        self.taken: dict[str, Any] | None = None
        """Execution payload that was taken, while its block is not acknowledged as the head."""
        self.deposits: set[str] = set()
        """Hashes of all deposits that the node was requested to include."""
        self._leaving = False
        self._get_payload = "engine_getPayloadV5" if fork is Fork.KARST else "engine_getPayloadV4"
        self._source = deposits
        self._block_time = block_time
        self._gas_limit = gas_limit

    @property
    def head(self) -> BlockId:
        """The newest acknowledged block."""
        return self.chain[-1]

    def start(self) -> None:
        """Read the chain of a node, and choose its head: what op-node does after its start or that of the node.

        Raises AssertionError if the node's chain is not the acknowledged one, where there is one.
        """
        latest = self._block("latest")
        assert latest is not None
        if self._leaving and latest == self.chain[-2]:
            # The acknowledgement of `go_back` was lost.
            self.chain.pop()
        self._leaving = False
        found = [latest]
        while found[-1].number > (self.chain[-1].number if self.chain else 0):
            found.append(self._block_by_number(found[-1].number - 1))
        found.reverse()
        if self.chain:
            # That of a new head may be lost as well.
            assert found[0] == self.head, f"the head {self.head} was acknowledged, the node has {found[0]}"
            self.chain += found[1:]
        else:
            self.chain = found
        self.safe, self.finalized = (
            0 if (block := self._block(tag)) is None else block.number for tag in ("safe", "finalized")
        )
        self.payload = None
        if self.taken is not None and self.taken["blockHash"] == self.head.hash:
            self.taken = None
        self.choose_head()

    def begin(self) -> Payload:
        """Open the block after the head. The same head and the same L1 give the same attributes."""
        return self._begin(self.next_attributes())

    def begin_without_pool(self, raw: Sequence[str]) -> Payload:
        """Open the block after the head with exactly these transactions after the deposits."""
        attributes = self.next_attributes()
        return self._begin(attributes | {"transactions": [*attributes["transactions"], *raw], "noTxPool": True})

    def take(self) -> dict[str, Any]:
        """Return the node's block of the open payload, which gets no further steps (`engine_getPayload`)."""
        assert self.payload is not None
        found: dict[str, Any] = self.engine(self._get_payload, self.payload.id)
        self.taken = found["executionPayload"]
        return found

    def seal(self) -> dict[str, Any]:
        """Make the open payload the head; return its execution payload."""
        self.take()
        return self.seal_taken()

    def seal_taken(self) -> dict[str, Any]:
        """Make the payload that was taken the head, also after a restart of the node; return it."""
        block = self.taken
        assert block is not None
        self.import_payload(block, self.next_attributes()["parentBeaconBlockRoot"])
        self.adopt(block)
        self.payload = self.taken = None
        return block

    def adopt(self, block: dict[str, Any]) -> None:
        """Make a block the head, which follows the head and was imported before."""
        self.chain.append(BlockId(int(block["blockNumber"], 16), block["blockHash"], int(block["timestamp"], 16)))
        try:
            self.choose_head()
        except BaseException:
            # Not acknowledged: `start` finds out.
            self.chain.pop()
            raise
        self._advance_safe()

    def abandon(self) -> None:
        """Leave the open payload and reorganise L1, so that the next block has other attributes."""
        self.payload = self.taken = None
        self.l1.reorganize()

    def go_back(self) -> None:
        """Make the parent of the head the head, which must be after the safe block."""
        assert self.head.number > self.safe
        left, self._leaving = self.chain.pop(), True
        try:
            self.choose_head()
        except BaseException:
            self.chain.append(left)
            raise
        self._leaving = False

    def import_payload(self, block: dict[str, Any], beacon_root: str) -> None:
        """Send a block (`engine_newPayloadV4`). Raises AssertionError if it is not valid."""
        status = self.engine("engine_newPayloadV4", block, [], beacon_root, [])
        assert status["status"] == "VALID", status

    def choose_head(self) -> None:
        """Send the fork choice without attributes."""
        self._update(None)

    def next_attributes(self) -> dict[str, Any]:
        """Return the attributes of the block after the head."""
        number = self.head.number + 1
        origin = self.l1.block(number // EPOCH)
        l1 = L1Attributes(origin, number % EPOCH)
        transactions = [l1_attributes_deposit(l1), *self._source(l1)]
        self.deposits.update(each.hash for each in transactions)
        return {
            "timestamp": hex(self.head.timestamp + self._block_time),
            "prevRandao": "0x" + origin.randao.hex(),
            "suggestedFeeRecipient": SEQUENCER_FEE_VAULT,
            "withdrawals": [],
            "parentBeaconBlockRoot": "0x" + origin.hash.hex(),
            "transactions": ["0x" + each.encode().hex() for each in transactions],
            "gasLimit": hex(self._gas_limit),
            "eip1559Params": "0x" + bytes(8).hex(),
            "minBaseFee": 0,
        }

    def _begin(self, attributes: dict[str, Any]) -> Payload:
        parent, self.taken = self.head, None
        result = self._update(attributes)
        self.payload = Payload(result["payloadId"], parent, attributes)
        return self.payload

    def _advance_safe(self) -> None:
        """Let `safe` and `finalized` follow; the next fork choice names them."""
        self.safe = max(self.safe, self.head.number - SAFE_DEPTH)
        self.finalized = max(self.finalized, self.head.number - FINALIZED_DEPTH)

    def _update(self, attributes: dict[str, Any] | None) -> dict[str, Any]:
        state = {
            "headBlockHash": self.head.hash,
            "safeBlockHash": self.chain[self.safe].hash,
            "finalizedBlockHash": self.chain[self.finalized].hash,
        }
        result: dict[str, Any] = self.engine("engine_forkchoiceUpdatedV3", state, attributes)
        assert result["payloadStatus"]["status"] == "VALID", result
        assert (result["payloadId"] is None) == (attributes is None), result
        self.acknowledged_safe = self.safe
        return result

    def _block(self, tag: str) -> BlockId | None:
        """Return a block by tag; `None` if the node has none yet."""
        try:
            found = self.engine("eth_getBlockByNumber", tag, False)
        except RpcFailure as error:
            if error.code != _BLOCK_NOT_FOUND or "block not found" not in error.message:
                raise
            return None
        return None if found is None else _block_id(found)

    def _block_by_number(self, number: int) -> BlockId:
        return _block_id(self.engine("eth_getBlockByNumber", hex(number), False))


class PlainDriver(Driver):
    """The same driver for a chain that is not an OP chain: no deposits, and the gas limit of the node."""

    def next_attributes(self) -> dict[str, Any]:
        """Return the attributes of the block after the head."""
        attributes = super().next_attributes()
        names = ("timestamp", "prevRandao", "suggestedFeeRecipient", "withdrawals", "parentBeaconBlockRoot")
        return {name: attributes[name] for name in names}


def _block_id(block: dict[str, Any]) -> BlockId:
    return BlockId(int(block["number"], 16), block["hash"], int(block["timestamp"], 16))
