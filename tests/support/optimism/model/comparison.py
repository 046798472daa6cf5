"""Builds planned blocks on a node through the Engine API, and compares everything with the model's blocks."""

from typing import Any

from live import wait_for
from live.rpc import Rpc
from optimism.engine_client import EngineClient
from optimism.model.chain import ModelBlock, ModelChain
from optimism.model.plans import PlannedBlock, hash_of
from optimism.model.receipts import logs_bloom
from optimism.model.transactions import DEPOSIT_TYPE, decode_transaction

_EMPTY_ROOT = hash_of(b"\x80")

SECONDS = 30.0
"""Time until the builder has taken every transaction of the pool."""


def hexed(data: bytes) -> str:
    """Return 0x hex."""
    return "0x" + data.hex()


class BlockComparison:
    """A node that builds blocks and one that verifies them; all blocks must equal the model's."""

    def __init__(
        self, engine: EngineClient, verifier: EngineClient, public: Rpc, chain: ModelChain, get_payload: str
    ) -> None:
        """`engine` and `public` are the listeners of the builder."""
        self.engine = engine
        self.verifier = verifier
        self.public = public
        self.chain = chain
        self._get_payload = get_payload

    def extend(self, parent: ModelBlock, planned: PlannedBlock) -> ModelBlock:
        """Let the node build a block on `parent` and make it the head; return the model's, which must be equal."""
        block = self._seal(self.begin(parent, planned), parent, planned)
        assert list(block.transactions) == planned.transactions
        return block

    def extend_from_pool(self, parent: ModelBlock, planned: PlannedBlock) -> ModelBlock:
        """Do the same with the signed transactions in the pool. The payload may order them in any valid way."""
        self._choose_head(self.engine, hexed(parent.header.hash()), None)
        for raw in planned.transactions:
            if raw[0] != DEPOSIT_TYPE:
                self.public("eth_sendRawTransaction", hexed(raw))
        payload_id = self.begin(parent, planned, from_pool=True)

        def is_pending() -> bool:
            pending = self.public("eth_getBlockByNumber", "pending", False)
            return len(pending["transactions"]) == len(planned.transactions)

        wait_for(is_pending, SECONDS, f"{len(planned.transactions)} pending transactions")
        block = self._seal(payload_id, parent, planned)
        assert sorted(block.transactions) == sorted(planned.transactions)
        return block

    def _seal(self, payload_id: str, parent: ModelBlock, planned: PlannedBlock) -> ModelBlock:
        envelope = self.engine(self._get_payload, payload_id)
        payload = envelope["executionPayload"]
        beacon_root = hexed(planned.attributes.parent_beacon_root)
        # The builder looks the block up, the verifier executes it.
        for engine in (self.engine, self.verifier):
            status = engine("engine_newPayloadV4", payload, [], beacon_root, [])
            assert (status["status"], status["latestValidHash"]) == ("VALID", payload["blockHash"]), status
            self._choose_head(engine, payload["blockHash"], None)
        receipts = self.public("eth_getBlockReceipts", payload["blockHash"])
        gas = [int(each["gasUsed"], 16) for each in receipts]
        transactions = [bytes.fromhex(raw[2:]) for raw in payload["transactions"]]
        block = self.chain.build(parent, planned.attributes, transactions, gas)
        # From the smallest to the largest unit, so that the first difference names the cause.
        self._compare_receipts(block, receipts)
        self._compare_accounts(block, {"blockHash": payload["blockHash"]})
        expected = payload_fields(block)
        different = {name: (payload.get(name), value) for name, value in expected.items() if payload.get(name) != value}
        assert not different, different
        assert payload.keys() == expected.keys()
        assert envelope["blockValue"] == hex(block.block_value())
        assert envelope["parentBeaconBlockRoot"] == beacon_root
        assert envelope["executionRequests"] == []
        assert self.public("debug_getRawHeader", payload["blockHash"]) == hexed(block.header.encode())
        return block

    def begin(self, parent: ModelBlock, planned: PlannedBlock, from_pool: bool = False) -> str:
        """Open a block on `parent`; return the payload id. Raise `RpcFailure`. From the pool, it has the deposits."""
        given = planned.attributes
        transactions = [raw for raw in planned.transactions if raw[0] == DEPOSIT_TYPE or not from_pool]
        denominator, elasticity = given.eip1559 or (0, 0)
        attributes = {
            "timestamp": hex(given.timestamp),
            "prevRandao": hexed(given.prev_randao),
            "suggestedFeeRecipient": hexed(given.fee_recipient),
            "withdrawals": [],
            "parentBeaconBlockRoot": hexed(given.parent_beacon_root),
            "transactions": [hexed(raw) for raw in transactions],
            "noTxPool": not from_pool,
            "gasLimit": hex(given.gas_limit),
            "eip1559Params": hexed(denominator.to_bytes(4, "big") + elasticity.to_bytes(4, "big")),
            "minBaseFee": given.min_base_fee,
        }
        return str(self._choose_head(self.engine, hexed(parent.header.hash()), attributes)["payloadId"])

    def verify(self, block: ModelBlock) -> dict[str, Any]:
        """Send a block of the model to the verifier; return the payload status."""
        beacon_root = hexed(block.header.parent_beacon_root)
        status: dict[str, Any] = self.verifier("engine_newPayloadV4", payload_fields(block), [], beacon_root, [])
        return status

    def _choose_head(self, engine: EngineClient, head: str, attributes: dict[str, Any] | None) -> dict[str, Any]:
        genesis = hexed(self.chain.genesis.header.hash())
        state = {"headBlockHash": head, "safeBlockHash": genesis, "finalizedBlockHash": genesis}
        result: dict[str, Any] = engine("engine_forkchoiceUpdatedV3", state, attributes)
        assert result["payloadStatus"]["status"] == "VALID", result
        return result

    def _compare_receipts(self, block: ModelBlock, receipts: list[dict[str, Any]]) -> None:
        expected = zip(block.transactions, block.executions, block.receipts(), receipts, strict=True)
        for index, (raw, done, consensus, receipt) in enumerate(expected):
            message = decode_transaction(raw)
            logs = [(hexed(log.address), [*map(hexed, log.topics)], hexed(log.data)) for log in done.logs]
            assert {
                "status": receipt["status"],
                "gasUsed": receipt["gasUsed"],
                "cumulativeGasUsed": receipt["cumulativeGasUsed"],
                "logs": [(log["address"], log["topics"], log["data"]) for log in receipt["logs"]],
                "logsBloom": receipt["logsBloom"],
                "from": receipt["from"],
                "to": receipt["to"],
                "contractAddress": receipt["contractAddress"],
                "transactionHash": receipt["transactionHash"],
                "type": receipt["type"],
            } == {
                "status": hex(done.succeeded),
                "gasUsed": hex(done.gas_used),
                "cumulativeGasUsed": hex(consensus.cumulative_gas),
                "logs": logs,
                "logsBloom": hexed(logs_bloom(done.logs)),
                "from": hexed(message.sender),
                "to": hexed(message.to) if message.to else None,
                "contractAddress": hexed(done.created) if done.created else None,
                "transactionHash": hexed(hash_of(raw)),
                "type": hex(consensus.kind),
            }
            names = ("l1", "operator", "da", "blob", "deposit")
            fees = {name: int(receipt[name], 16) for name in receipt if name.startswith(names)}
            assert fees == block.fee_fields(index), (index, fees, block.fee_fields(index))

    def _compare_accounts(self, block: ModelBlock, at: dict[str, str]) -> None:
        """Compare every account that differs from the genesis, or that the node could have created."""
        before = self.chain.genesis.world.accounts
        for address, account in block.world.accounts.items():
            if before.get(address) != account:
                proof = self.public("eth_getProof", hexed(address), [], at)
                storage_root = block.world.storage_root(address)
                # Neither op-geth nor a node of an OP chain names hashes of an account that does not exist.
                is_absent = not (account.balance or account.nonce or account.code) and storage_root == _EMPTY_ROOT
                expected = {
                    "balance": hex(account.balance),
                    "nonce": hex(account.nonce),
                    "storageHash": hexed(bytes(32) if is_absent else storage_root),
                    "codeHash": hexed(bytes(32) if is_absent else hash_of(account.code)),
                }
                found = {name: proof[name] for name in expected}
                assert found == expected, (hexed(address), found, expected)


def payload_fields(block: ModelBlock) -> dict[str, Any]:
    """Return the execution payload of a block."""
    header = block.header
    return {
        "parentHash": hexed(header.parent_hash),
        "feeRecipient": hexed(header.fee_recipient),
        "stateRoot": hexed(header.state_root),
        "receiptsRoot": hexed(header.receipts_root),
        "logsBloom": hexed(header.bloom),
        "prevRandao": hexed(header.prev_randao),
        "blockNumber": hex(header.number),
        "gasLimit": hex(header.gas_limit),
        "gasUsed": hex(header.gas_used),
        "timestamp": hex(header.timestamp),
        "extraData": hexed(header.extra_data),
        "baseFeePerGas": hex(header.base_fee),
        "blockHash": hexed(header.hash()),
        "transactions": [hexed(raw) for raw in block.transactions],
        "withdrawals": [],
        "blobGasUsed": hex(header.blob_gas_used),
        "excessBlobGas": "0x0",
        "withdrawalsRoot": hexed(header.withdrawals_root),
    }
