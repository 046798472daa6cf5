"""Retried and unretried calls, and the validity of responses."""

from collections.abc import Callable
from typing import Any

import orjson
import pytest
from eth_account import Account

from foreseal.client import ConnectionLost, InvalidResponse, Options, RpcError, TimedOut, calls
from foreseal.client.pagination import get_logs
from foreseal.client.requests import Request
from foreseal.client.sans_io import run
from foreseal.client.session import ClientSession
from foreseal.codec import keccak, rlp_encode

# Signed once: a transfer of 0 wei.
SIGNED = Account.from_key(b"\1" * 32).sign_transaction(
    {"chainId": 1, "nonce": 0, "to": "0x" + "22" * 20, "value": 0, "gas": 21000, "gasPrice": 1}
)
RAW, HASH = bytes(SIGNED.raw_transaction), "0x" + bytes(SIGNED.hash).hex()

Reply = Callable[[dict[str, Any]], Any]


def result(value: Any) -> Reply:
    return lambda request: {"jsonrpc": "2.0", "id": request["id"], "result": value}


def error(code: int, message: str, **data: Any) -> Reply:
    return lambda request: {
        "jsonrpc": "2.0",
        "id": request["id"],
        "error": {"code": code, "message": message} | ({"data": data} if data else {}),
    }


class Answering:
    """A transport with prepared responses, one per exchange; an exception is raised instead of a response."""

    dial = None

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.asked: list[Any] = []
        self.waited: list[float] = []

    def exchange(self, body: bytes, seconds: float) -> bytes:
        asked = orjson.loads(body)
        self.asked.append(asked)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, bytes):
            return answer
        if isinstance(asked, list) and isinstance(answer, list):
            return orjson.dumps([reply(request) for reply, request in zip(answer, asked, strict=True)])
        return orjson.dumps(answer(asked))

    def sleep(self, seconds: float) -> None:
        self.waited.append(seconds)

    def close(self) -> None:
        pass

    @property
    def methods(self) -> list[str]:
        return [asked["method"] for asked in self.asked]


def execute(transport: Answering, request: Request[Any], **changes: Any) -> Any:
    return run(ClientSession(transport, Options(random=lambda: 1.0, **changes)).execute(request))


def test_call_is_a_request_object_with_a_distinct_id() -> None:
    transport = Answering(result("0x7"), result("0x8"))
    session = ClientSession(transport, Options())
    assert [run(session.execute(calls.block_number())) for _ in range(2)] == [7, 8]
    assert transport.asked[0] == {"jsonrpc": "2.0", "id": 1, "method": "eth_blockNumber", "params": []}
    assert transport.asked[1]["id"] == 2


@pytest.mark.parametrize("lost", [ConnectionLost("gone"), TimedOut("late")])
def test_a_read_is_repeated_after_a_lost_answer(lost: Exception) -> None:
    transport = Answering(lost, lost, result("0x7"))
    assert execute(transport, calls.block_number()) == 7
    assert transport.waited == [0.05, 0.1]
    with pytest.raises(type(lost)):
        execute(Answering(lost, lost, lost, result("0x7")), calls.block_number())


def test_non_idempotent_call_is_not_repeated() -> None:
    transport = Answering(ConnectionLost("gone"), result(True))
    with pytest.raises(ConnectionLost):
        execute(transport, calls.request("evm_mine"))
    assert transport.methods == ["evm_mine"]


@pytest.mark.parametrize(
    "passing",
    [
        error(-32002, "the node is starting"),
        error(-32005, "too many calls at once", limit="calls", max=1),
        error(-32001, "view no longer available"),
    ],
)
def test_any_call_that_the_node_did_not_start_is_retried(passing: Reply) -> None:
    assert execute(Answering(passing, passing, result(True)), calls.request("evm_mine")) is True
    with pytest.raises(RpcError):
        execute(Answering(passing, passing, passing), calls.request("evm_mine"))


@pytest.mark.parametrize(("code", "message"), [(-32000, "nonce too low"), (-32005, "too many logs"), (3, "reverted")])
def test_other_errors_are_raised_at_once(code: int, message: str) -> None:
    transport = Answering(error(code, message, limit="logs"))
    with pytest.raises(RpcError) as caught:
        execute(transport, calls.block_number())
    assert (caught.value.code, caught.value.message, caught.value.data) == (code, message, b'{"limit":"logs"}')


@pytest.mark.parametrize("said", ["already known", "nonce too low"])
def test_lost_submission_response_is_success_if_the_node_has_it(said: str) -> None:
    transport = Answering(ConnectionLost("gone"), error(-32000, said), result({"hash": HASH}))
    assert execute(transport, calls.send_raw_transaction(RAW)) == HASH
    assert transport.methods == ["eth_sendRawTransaction"] * 2 + ["eth_getTransactionByHash"]
    assert transport.asked[0]["params"] == transport.asked[1]["params"] == ["0x" + RAW.hex()]
    assert transport.asked[2]["params"] == [HASH]


def test_lost_submission_response_is_failure_if_the_node_lacks_it() -> None:
    transport = Answering(ConnectionLost("gone"), error(-32000, "nonce too low"), result(None))
    with pytest.raises(RpcError, match="nonce too low"):
        execute(transport, calls.send_raw_transaction(RAW))
    with pytest.raises(RpcError, match="insufficient"):
        execute(Answering(ConnectionLost("gone"), error(-32000, "insufficient funds")), calls.send_raw_transaction(RAW))


def test_already_known_without_a_lost_response_is_an_error() -> None:
    transport = Answering(error(-32000, "already known"))
    with pytest.raises(RpcError, match="already known"):
        execute(transport, calls.send_raw_transaction(RAW))
    assert len(transport.asked) == 1


def test_batch_is_one_exchange_with_responses_in_any_order() -> None:
    transport = Answering([result("0x1"), result("0x2"), error(-32000, "no")])
    requests = [calls.block_number(), calls.chain_id(), calls.gas_price()]
    session = ClientSession(transport, Options())
    *numbers, failed = run(session.batch(requests, return_errors=True))
    assert numbers == [1, 2]
    assert isinstance(failed, RpcError)
    turned = b'[{"jsonrpc":"2.0","id":5,"result":"0x5"},{"jsonrpc":"2.0","id":4,"result":"0x4"}]'
    transport.answers = [turned]
    assert run(session.batch(requests[:2])) == [4, 5]
    transport.answers = [[error(-32000, "no"), result("0x1")]]
    with pytest.raises(RpcError, match="no"):
        run(session.batch(requests[:2]))
    assert run(session.batch([])) == []


def test_batch_with_a_submission_is_repeated_and_resolved() -> None:
    transport = Answering(
        ConnectionLost("gone"), [result("0x1"), error(-32000, "already known")], result({"hash": HASH})
    )
    session = ClientSession(transport, Options())
    assert run(session.batch([calls.block_number(), calls.send_raw_transaction(RAW)])) == [1, HASH]
    alone = Answering(ConnectionLost("gone"))
    with pytest.raises(ConnectionLost):
        run(ClientSession(alone, Options()).batch([calls.block_number(), calls.request("evm_mine")]))


def test_batch_that_a_starting_node_rejected_is_retried() -> None:
    starting = error(-32002, "the node is starting")
    transport = Answering([starting, starting], [result("0x1"), result(True)])
    requests = [calls.block_number(), calls.request("evm_mine")]
    assert run(ClientSession(transport, Options()).batch(requests)) == [1, True]
    with pytest.raises(RpcError, match="starting"):
        run(ClientSession(Answering([starting, result(True)]), Options()).batch(requests))


def test_batch_rejected_as_one_raises_its_error() -> None:
    refusal = b'{"jsonrpc":"2.0","id":null,"error":{"code":-32005,"message":"a batch may have at most 1"}}'
    with pytest.raises(RpcError, match="at most 1"):
        run(ClientSession(Answering(refusal), Options()).batch([calls.block_number()] * 2))


def test_response_with_another_id_is_ignored() -> None:
    other = b'{"jsonrpc":"2.0","id":99,"result":"0x9"}'
    failed = b'{"jsonrpc":"2.0","id":99,"error":{"code":1,"message":"no"}}'
    assert execute(Answering(other, failed, result("0x7")), calls.block_number()) == 7
    for wrong in (other, failed):
        with pytest.raises(ConnectionLost, match="for another call"):
            execute(Answering(wrong), calls.block_number(), attempts=1)


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (b"<html>", "not JSON"),
        (b"[]", "not an object"),
        (b'{"jsonrpc":"2.0","id":1}', "neither result nor error"),
        (b'{"jsonrpc":"2.0","id":1,"error":{"code":"x"}}', "invalid error object"),
        (b'{"jsonrpc":"2.0","id":1,"result":"seven"}', "eth_blockNumber"),
        (b'{"jsonrpc":"2.0","id":1,"result":null}', "eth_blockNumber"),
        (b'{"jsonrpc":"2.0","id":1,"result":true}', "eth_blockNumber"),
    ],
)
def test_an_invalid_response_is_reported(answer: bytes, says: str) -> None:
    with pytest.raises(InvalidResponse, match=says):
        execute(Answering(answer), calls.block_number())


def test_hash_of_a_transaction_is_that_of_its_bytes() -> None:
    assert calls.transaction_hash(RAW) == calls.transaction_hash("0x" + RAW.hex()) == HASH


def test_hash_of_a_blob_transaction_excludes_the_blobs() -> None:
    body: Any = [1, 2, b"\x05" * 20]
    wrapped = b"\x03" + rlp_encode([body, [b"blob"], [b"commitment"], [b"proof"]])
    bare = b"\x03" + rlp_encode(body)
    assert calls.transaction_hash(wrapped) == calls.transaction_hash(bare) == "0x" + keccak(bare).hex()
    assert calls.transaction_hash(b"\x03\xff") == "0x" + keccak(b"\x03\xff").hex()


def test_parameters_are_encoded_for_the_node() -> None:
    overrides = {"0xaa": {"balance": 5, "code": b"\x01", "stateDiff": {"0x00": "0x01"}, "list": [1, None, True]}}
    request = calls.call({"to": b"\xbb", "value": 7, "data": bytearray(b"\x02"), "gas": None}, 5, overrides)
    assert request.params == (
        {"to": "0xbb", "value": "0x7", "data": "0x02"},
        "0x5",
        {"0xaa": {"balance": "0x5", "code": "0x01", "stateDiff": {"0x00": "0x01"}, "list": ["0x1", None, True]}},
    )
    assert calls.request("any", b"\x01", 5, {"a": 1}).params == ("0x01", 5, {"a": 1})
    with pytest.raises(TypeError):
        calls.get_balance(5)  # type: ignore[arg-type]


def log(index: int, **changes: Any) -> dict[str, Any]:
    quantities = dict.fromkeys(("blockNumber", "transactionIndex"), "0x1")
    names = dict.fromkeys(("address", "data", "blockHash", "transactionHash"), "0x00")
    return {**quantities, **names, "logIndex": hex(index), "topics": [], "removed": False, **changes}


def test_logs_removed_between_two_pages_are_dropped() -> None:
    pages = [
        {"logs": [log(0), log(1)], "cursor": "0xc1"},
        {"logs": [log(1, removed=True), log(2)], "cursor": "0xc2"},
        {"logs": [], "cursor": "0xc3"},
    ]
    transport = Answering(*map(result, pages))
    logs = run(get_logs(ClientSession(transport, Options()), 0, "latest", page=2))
    assert [each.log_index for each in logs] == [0, 2]
    asked = [each["params"][0] for each in transport.asked]
    filter = {"fromBlock": "0x0", "toBlock": "latest"}
    assert asked[0] == {"filter": filter, "limit": "0x2"}
    assert asked[2] == {"filter": filter, "cursor": "0xc2", "limit": "0x2"}


def test_empty_page_ends_only_a_query_without_cursor() -> None:
    pages = [{"logs": [], "cursor": "0xc1"}, {"logs": [log(0)], "cursor": None}]
    assert len(run(get_logs(ClientSession(Answering(*map(result, pages)), Options()), 0, 9))) == 1
    assert run(get_logs(ClientSession(Answering(*map(result, pages)), Options()), 0)) == []


RATE = {"limit": "rate", "max": 5, "retryAfterMs": 1500}


def test_rate_limited_call_is_retried_after_its_retry_delay() -> None:
    transport = Answering(error(-32005, "too many calls", **RATE), result("0x7a69"))
    assert run(ClientSession(transport, Options()).execute(calls.chain_id())) == 31337
    assert transport.waited == [1.5]


def test_wait_timeout_raises_the_server_error() -> None:
    transport = Answering(error(-32005, "too many calls", **RATE))
    with pytest.raises(RpcError, match="too many calls"):
        run(ClientSession(transport, Options(timeout=1.0)).execute(calls.chain_id()))
    assert transport.waited == []


def test_rate_limited_batch_is_retried_after_its_retry_delay() -> None:
    refused = {"jsonrpc": "2.0", "id": None, "error": {"code": -32005, "message": "too many calls", "data": RATE}}
    each = [error(-32005, "too many calls", **RATE), error(-32005, "too many", limit="rate", max=5, retryAfterMs=2000)]
    transport = Answering(orjson.dumps(refused), each, [result("0x1"), result("0x2")])
    assert run(ClientSession(transport, Options(attempts=3)).batch([calls.chain_id(), calls.chain_id()])) == [1, 2]
    assert transport.waited == [1.5, 2.0]


def test_a_key_is_never_shown() -> None:
    options = Options(key="fs_1_secret")
    assert "secret" not in repr(options)
    assert options.headers() == {"authorization": "Bearer fs_1_secret"}
    assert Options().headers() == {}
