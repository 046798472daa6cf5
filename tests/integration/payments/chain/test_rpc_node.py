"""The node over JSON-RPC: a real one in this process, and variations in the responses of others."""

from collections.abc import Sequence
from typing import Any

import pytest
from eth_utils.address import to_checksum_address

from foreseal.client import Client, ConnectionLost, InvalidResponse, TimedOut
from foreseal.client.requests import Request
from foreseal.errors import RpcError
from foreseal.payments.chain import (
    ChainError,
    Incomplete,
    InvalidTransaction,
    LogFilter,
    NonceTooLow,
    NoResponse,
    RejectedByNode,
    Reverted,
    RpcNode,
    TemporaryRejection,
    Token,
    Underpriced,
    heads,
)
from foreseal.payments.ledger.models import Purpose
from foreseal.payments.transactions import (
    GWEI,
    DeliveryStatus,
    FeeQuote,
    LocalSigner,
    TransactionIntents,
    TransactionSender,
)
from foreseal.testing import Chain, ChainSettings
from payments.shop import Shop

# Emits a log with two topics, and reverts with Error("no") if it receives data.
_REASON = "08c379a0" + f"{32:064x}" + f"{2:064x}" + "6e6f".ljust(64, "0")
_LOG = "60426041 6020 6000 a2 00".replace(" ", "")
_CODE = "36600e57" + _LOG + "5b" + "6064" + "601b" + "6000" + "39" + "6064" + "6000" + "fd" + _REASON


def deployed(chain: Chain) -> str:
    code = bytes.fromhex(_CODE)
    creation = bytes.fromhex(f"60{len(code):02x}600c60003960{len(code):02x}6000f3") + code
    hash = chain.rpc("eth_sendTransaction", {"from": chain.accounts[0].address, "data": "0x" + creation.hex()})
    return to_checksum_address(chain.rpc("eth_getTransactionReceipt", hash)["contractAddress"])


def test_a_sender_lands_on_a_real_node(shop: Shop) -> None:
    with Chain(ChainSettings(automine=False)) as chain:
        node = RpcNode(Client(chain))
        key = chain.accounts[1].signer()
        sender = TransactionSender(
            shop.ledger, node, TransactionIntents(node.chain_id(), LocalSigner(key)), shop.policy
        )
        chain.automine = True
        target = deployed(chain)
        chain.automine = False
        call = sender.call(target, b"")
        with shop.database.transaction() as tx:
            intent = sender.intents.store(tx, Purpose.PAYOUT, "a", call)
            other = sender.intents.store(tx, Purpose.PAYOUT, "b", call)
        for _ in range(2):
            assert sender.deliver(intent).status is DeliveryStatus.ACCEPTED
        assert sender.replace(intent)
        assert sender.deliver(intent).status is DeliveryStatus.ACCEPTED
        assert sender.deliver(other).status is DeliveryStatus.ACCEPTED
        chain.step()
        receipt = sender.outcome(intent).receipt
        assert receipt is not None
        assert receipt.succeeded
        assert receipt.block_number == heads(node).latest + 1
        chain.mine()
        assert sender.deliver(intent).status in (DeliveryStatus.UNKNOWN, DeliveryStatus.ACCEPTED)
        assert node.transaction_count(key.address, "latest") == 2
        (log,) = receipt.logs
        assert [int.from_bytes(topic, "big") for topic in log.topics] == [0x41, 0x42]
        logs = node.logs(LogFilter(target, ((log.topics[0],), None), 0, "latest"))
        assert len(logs) == 2
        assert logs[0].transaction_hash == receipt.transaction_hash
        assert node.logs(LogFilter(target, ((bytes(32),),), 0, "latest")) == []


def test_errors_of_a_real_node_are_classified(shop: Shop) -> None:
    with Chain() as chain:
        node = RpcNode(Client(chain))
        target = deployed(chain)
        for query in (
            lambda: node.call(target, b"\1", "pending"),
            lambda: node.estimate_gas(chain.accounts[0].address, target, b"\1", "pending"),
        ):
            with pytest.raises(Reverted) as error:
                query()
            assert error.value.reason == "no"
            assert error.value.data.hex() == _REASON
        assert node.call(target, b"", "latest") == b""
        assert node.code(target, "latest").hex() == _CODE
        assert node.code(chain.accounts[0].address, "latest") == b""
        assert node.head(10**9) is None
        assert node.receipt("0x" + "11" * 32) is None
        assert node.priority_fee() >= 0
        key = chain.accounts[2].signer()
        intents = TransactionIntents(node.chain_id(), LocalSigner(key))
        call = TransactionSender(shop.ledger, node, intents, shop.policy).call(target, b"")
        chain.automine = False
        with shop.database.transaction() as tx:
            intents.store(tx, Purpose.PAYOUT, "a", call)
        raw, cheap = (
            bytes(
                key.sign_transaction(
                    {
                        "chainId": node.chain_id(),
                        "nonce": 0,
                        "to": target,
                        "value": 0,
                        "gas": 100_000,
                        "maxFeePerGas": fee * GWEI,
                        "maxPriorityFeePerGas": fee * GWEI,
                    }
                ).raw_transaction
            )
            for fee in (20, 21)
        )
        node.send(raw)
        node.send(raw)
        with pytest.raises(Underpriced):
            node.send(cheap)
        chain.mine()
        with pytest.raises(NonceTooLow):
            node.send(cheap)
        assert FeeQuote(20 * GWEI, 20 * GWEI).raised(FeeQuote(0, 0)).fee == 22 * GWEI


class Scripted:
    """A node with scripted responses."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def request(self, method: str, *params: Any) -> Any:
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer

    def batch(self, requests: Sequence[Request[Any]], *, return_errors: bool = False) -> list[Any]:
        return [self.answer for _ in requests]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (ConnectionLost("x"), NoResponse),
        (TimedOut("x"), NoResponse),
        (InvalidResponse("x"), Incomplete),
        (RpcError(-32000, "nonce too low: next nonce 5, tx nonce 4"), NonceTooLow),
        (RpcError(-32003, "nonce too low"), NonceTooLow),
        (RpcError(-32000, "Nonce too low. Expected nonce to be 5 but got 4."), NonceTooLow),
        (RpcError(-32000, "INTERNAL_ERROR: nonce too low"), NonceTooLow),
        (RpcError(-32000, "replacement transaction underpriced"), Underpriced),
        (RpcError(-32000, "replacement transaction underpriced: new tx gas fee cap 1 <= 2 queued"), Underpriced),
        (RpcError(-32000, "INTERNAL_ERROR: could not replace existing tx"), Underpriced),
        (RpcError(-32000, "INTERNAL_ERROR: could not replace existing txn"), Underpriced),
        (RpcError(-32003, "Tx: [0x12] insufficient gas price to replace existing transaction"), Underpriced),
        (
            RpcError(-32000, "Replacement transaction underpriced. A gasPrice/maxFeePerGas of at least 5 is necessary"),
            Underpriced,
        ),
        (RpcError(-32000, "transaction underpriced: gas tip cap 0, minimum needed 1"), TemporaryRejection),
        (RpcError(-32000, "max fee per gas less than block base fee"), TemporaryRejection),
        (RpcError(-32000, "txpool is full"), TemporaryRejection),
        (RpcError(-32000, "insufficient funds for gas * price + value"), TemporaryRejection),
        (RpcError(-32000, "exceeds block gas limit"), InvalidTransaction),
        (RpcError(-32000, "transaction gas limit too high (cap: 16777216, tx: 19750000)"), InvalidTransaction),
        (RpcError(-32000, "oversized data: transaction size 131501, limit 131072"), InvalidTransaction),
        (RpcError(-32000, "a policy of this provider"), RejectedByNode),
    ],
    ids=str,
)
def test_submission_errors_of_nodes_are_classified(given: Exception, expected: type[ChainError]) -> None:
    with pytest.raises(expected) as error:
        RpcNode(Scripted(given)).send(b"\2")
    assert type(error.value) is expected


def test_already_known_is_success() -> None:
    for words in (
        "already known",
        "ALREADY_EXISTS: already known",
        "known transaction: 0x12",
        "Known transaction: 0x12",
        "transaction already imported",
        "[0x12] Already imported",
        "INTERNAL_ERROR: existing tx with same hash",
        "INTERNAL_ERROR: existing txn with same hash",
    ):
        RpcNode(Scripted(RpcError(-32000, words))).send(b"\2")


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (None, "execution reverted"),
        (b'"0x"', "execution reverted"),
        (f'"0x{_REASON}"'.encode(), "no"),
        (f'{{"data": "0x{_REASON}"}}'.encode(), "no"),
        (b'"0x08c379a0ff"', "execution reverted"),
        (b'"nothing"', "execution reverted"),
        (b"5", "execution reverted"),
    ],
)
def test_revert_reasons_are_found_in_every_node_format(data: bytes | None, reason: str) -> None:
    with pytest.raises(Reverted) as error:
        RpcNode(Scripted(RpcError(-32000, "execution reverted", data))).call("0x", b"", "latest")
    assert error.value.reason == reason
    assert str(error.value) == f"reverts: {reason}"


def test_response_without_a_field_is_named() -> None:
    with pytest.raises(Incomplete, match="'5' is not a 0x string"):
        RpcNode(Scripted("5")).chain_id()
    with pytest.raises(Incomplete, match="no latest block"):
        heads(RpcNode(Scripted(None)))
    assert RpcNode(Scripted(RpcError(-39001, "unknown block"))).head("finalized") is None
    assert RpcNode(Scripted(RpcError(-32000, "pending block is not available"))).head("pending") is None
    for block in ("latest", 5):
        with pytest.raises(RejectedByNode, match="unknown block"):
            RpcNode(Scripted(RpcError(-39001, "unknown block"))).head(block)
    assert RpcNode(Scripted({"blockNumber": None})).receipt("0x") is None
    assert RpcNode(Scripted({"number": None})).head("pending") is None


@pytest.mark.parametrize(
    ("method", "answer"),
    [
        ("head", {"number": "0x5", "hash": "0x12"}),
        ("head", {"number": "0x", "hash": "0x12", "timestamp": "0x5"}),
        ("head", {"number": 5, "hash": "0x12", "timestamp": "0x5"}),
        ("head", ["0x5"]),
        ("head", {"number": "0x6", "hash": "0x12", "timestamp": "0x5"}),
        ("logs", None),
        ("logs", [{"address": "0x" + "11" * 20}]),
        ("logs", [None]),
        ("logs", [{"address": "0x12", "topics": [], "data": "0x", "blockNumber": "0x5", "logIndex": "0x0"}]),
        ("receipt", {"blockNumber": "0x5", "transactionHash": "0x12", "status": "0x1"}),
        ("receipt", {"blockNumber": "0x5", "transactionHash": "0x12", "logs": []}),
        ("receipt", {"blockNumber": "0x5", "transactionHash": "0x13", "status": "0x1", "logs": []}),
        ("receipt", {"blockNumber": "0x5", "transactionHash": None, "status": "0x1", "logs": []}),
        ("receipt", {"blockNumber": "0x5", "transactionHash": "0x12", "status": "0x1", "logs": None}),
        ("chain_id", "0x"),
        ("chain_id", None),
        ("call", "0x1"),
        ("code", None),
    ],
)
def test_malformed_response_is_a_chain_error(method: str, answer: Any) -> None:
    node = RpcNode(Scripted(answer))
    given: dict[str, tuple[Any, ...]] = {
        "head": (5,),
        "logs": (LogFilter("0x", (), 1, 2),),
        "receipt": ("0x12",),
        "chain_id": (),
        "call": ("0x", b"", "latest"),
        "code": ("0x", "latest"),
    }
    with pytest.raises(Incomplete):
        getattr(node, method)(*given[method])


def test_missing_token_is_an_error_instead_of_zero() -> None:
    with pytest.raises(Incomplete, match="the contract does not exist at block pending"):
        Token(RpcNode(Scripted("0x")), "0x" + "11" * 20).balance("0x" + "22" * 20, "pending")


def test_node_without_preconfirmed_logs_returns_none() -> None:
    node = RpcNode(Scripted(RpcError(-32000, "pending logs are not supported")))
    assert node.logs(LogFilter("0x", (), "pending", "pending")) == []
    with pytest.raises(RejectedByNode, match="not supported"):
        node.logs(LogFilter("0x", (), 0, "latest"))
