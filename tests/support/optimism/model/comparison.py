"""Builds planned blocks on a node through the Engine API, and compares every field with the model's blocks."""

from typing import Any

from eth_hash.auto import keccak
from eth_utils.hexadecimal import decode_hex, encode_hex

from live.rpc import Rpc
from optimism.engine_client import EngineClient
from optimism.model.chain import ModelBlock, ModelChain
from optimism.model.plans import BlockPlan, PlannedBlock, plan_on
from optimism.model.receipts import logs_bloom
from optimism.model.transactions import DEPOSIT_TYPE, decode_transaction
from optimism.pending import wait_for_pending_count

_EMPTY_ROOT = keccak(b"\x80")


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

    def plan(self, plan: BlockPlan, parent: ModelBlock) -> PlannedBlock:
        """Return attributes and transactions of a plan on `parent`."""
        return plan_on(plan, parent, self.chain.chain_id)

    def extend(self, parent: ModelBlock, planned: PlannedBlock) -> ModelBlock:
        """Build a block on `parent` and make it the head of both nodes; return the model's block.

        Raise AssertionError if the two differ.
        """
        block = self._seal(self.begin(parent, planned), parent, planned)
        assert list(block.transactions) == planned.transactions
        return block

    def extend_from_pool(self, parent: ModelBlock, planned: PlannedBlock) -> ModelBlock:
        """Do the same with the signed transactions in the pool. The payload may order them in any valid way."""
        self._choose_head(self.engine, encode_hex(parent.header.hash()))
        for raw in planned.transactions:
            if raw[0] != DEPOSIT_TYPE:
                self.public("eth_sendRawTransaction", encode_hex(raw))
        payload_id = self.begin(parent, planned, from_pool=True)
        wait_for_pending_count(self.public, len(planned.transactions))
        block = self._seal(payload_id, parent, planned)
        assert sorted(block.transactions) == sorted(planned.transactions)
        return block

    def _seal(self, payload_id: str, parent: ModelBlock, planned: PlannedBlock) -> ModelBlock:
        envelope = self.engine(self._get_payload, payload_id)
        payload = envelope["executionPayload"]
        beacon_root = encode_hex(planned.attributes.parent_beacon_root)
        # The builder has the block, the verifier executes it.
        for engine in (self.engine, self.verifier):
            engine.import_payload(payload, beacon_root)
            self._choose_head(engine, payload["blockHash"])
        receipts = self.public("eth_getBlockReceipts", payload["blockHash"])
        gas = [int(each["gasUsed"], 16) for each in receipts]
        transactions = [decode_hex(raw) for raw in payload["transactions"]]
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
        assert self.public("debug_getRawHeader", payload["blockHash"]) == encode_hex(block.header.encode())
        return block

    def begin(self, parent: ModelBlock, planned: PlannedBlock, from_pool: bool = False) -> str:
        """Begin a block on `parent` and return the id of its payload. Raise `RpcFailure` for invalid attributes.

        With `from_pool`, the attributes contain the deposits only.
        """
        fields = planned.attributes
        transactions = [raw for raw in planned.transactions if raw[0] == DEPOSIT_TYPE or not from_pool]
        denominator, elasticity = fields.eip1559 or (0, 0)
        attributes = {
            "timestamp": hex(fields.timestamp),
            "prevRandao": encode_hex(fields.prev_randao),
            "suggestedFeeRecipient": encode_hex(fields.fee_recipient),
            "withdrawals": [],
            "parentBeaconBlockRoot": encode_hex(fields.parent_beacon_root),
            "transactions": [encode_hex(raw) for raw in transactions],
            "noTxPool": not from_pool,
            "gasLimit": hex(fields.gas_limit),
            "eip1559Params": encode_hex(denominator.to_bytes(4, "big") + elasticity.to_bytes(4, "big")),
            "minBaseFee": fields.min_base_fee,
        }
        return self.engine.begin_payload(encode_hex(parent.header.hash()), attributes)

    def verify(self, block: ModelBlock) -> dict[str, Any]:
        """Send a block of the model to the verifier; return the payload status."""
        return self.verifier.new_payload(payload_fields(block), encode_hex(block.header.parent_beacon_root))

    def _choose_head(self, engine: EngineClient, head: str) -> None:
        genesis = encode_hex(self.chain.genesis.header.hash())
        engine.choose_head(head, genesis, genesis)

    def _compare_receipts(self, block: ModelBlock, receipts: list[dict[str, Any]]) -> None:
        expected = zip(block.transactions, block.executions, block.receipts(), receipts, strict=True)
        for index, (raw, done, consensus, receipt) in enumerate(expected):
            message = decode_transaction(raw)
            logs = [
                (encode_hex(log.address), [*map(encode_hex, log.topics)], encode_hex(log.data)) for log in done.logs
            ]
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
                "logsBloom": encode_hex(logs_bloom(done.logs)),
                "from": encode_hex(message.sender),
                "to": encode_hex(message.to) if message.to else None,
                "contractAddress": encode_hex(done.created) if done.created else None,
                "transactionHash": encode_hex(keccak(raw)),
                "type": hex(consensus.kind),
            }
            prefixes = ("l1", "operator", "da", "blob", "deposit")
            fees = {name: int(receipt[name], 16) for name in receipt if name.startswith(prefixes)}
            assert fees == block.fee_fields(index), f"fees of transaction {index}"

    def _compare_accounts(self, block: ModelBlock, at: dict[str, str]) -> None:
        """Compare every account that differs from the genesis, or that the node could have created."""
        before = self.chain.genesis.state.accounts
        for address, account in block.state.accounts.items():
            if before.get(address) != account:
                proof = self.public("eth_getProof", encode_hex(address), [], at)
                storage_root = block.state.storage_root(address)
                # On an OP chain, both hashes of an account that does not exist are zero, as in op-geth.
                is_absent = not (account.balance or account.nonce or account.code) and storage_root == _EMPTY_ROOT
                expected = {
                    "balance": hex(account.balance),
                    "nonce": hex(account.nonce),
                    "storageHash": encode_hex(bytes(32) if is_absent else storage_root),
                    "codeHash": encode_hex(bytes(32) if is_absent else keccak(account.code)),
                }
                proven = {name: proof[name] for name in expected}
                assert proven == expected, encode_hex(address)


def payload_fields(block: ModelBlock) -> dict[str, Any]:
    """Return the execution payload of a block."""
    header = block.header
    return {
        "parentHash": encode_hex(header.parent_hash),
        "feeRecipient": encode_hex(header.fee_recipient),
        "stateRoot": encode_hex(header.state_root),
        "receiptsRoot": encode_hex(header.receipts_root),
        "logsBloom": encode_hex(header.bloom),
        "prevRandao": encode_hex(header.prev_randao),
        "blockNumber": hex(header.number),
        "gasLimit": hex(header.gas_limit),
        "gasUsed": hex(header.gas_used),
        "timestamp": hex(header.timestamp),
        "extraData": encode_hex(header.extra_data),
        "baseFeePerGas": hex(header.base_fee),
        "blockHash": encode_hex(header.hash()),
        "transactions": [encode_hex(raw) for raw in block.transactions],
        "withdrawals": [],
        "blobGasUsed": hex(header.blob_gas_used),
        "excessBlobGas": "0x0",
        "withdrawalsRoot": encode_hex(header.withdrawals_root),
    }
