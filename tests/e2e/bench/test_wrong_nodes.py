"""Nodes with wrong responses: the benchmark fails and returns no figure."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

import pytest

from altering_proxy import Change, between, error, result
from bench_shape import SHAPE, quiet
from foreseal.bench.call_matrix import ROWS
from foreseal.bench.content_writer import ContentWriter, FilledNode
from foreseal.bench.errors import BenchError
from foreseal.bench.measurement import MatrixRun, MeasurementPlan
from foreseal.bench.node import BenchNode, body

EXTENT = MeasurementPlan(connections=(1,), seconds=0.05, repetitions=1)
BY_NAME = {row.name: row for row in ROWS}


@contextmanager
def another(url: str, changes: dict[str, Change]) -> Iterator[BenchNode]:
    """Provide a node like the one at `url`, with these responses changed."""
    with between(url, changes) as changed, closing(BenchNode("other", changed)) as node:
        yield node


def beside(filled: FilledNode, node: BenchNode) -> FilledNode:
    """Return the same content on another node."""
    return FilledNode(node, filled.contents, filled.heights, filled.dense, filled.tokens)


def without_last_log(call: dict[str, Any], answer: dict[str, Any]) -> Any:
    return answer | {"result": answer["result"][:-1]}


@pytest.mark.parametrize(
    ("row", "change"),
    [
        ("blockNumber", result("0x0")),
        ("storage", result("0x" + "0" * 63 + "1")),
        ("balance", result("0x1")),
        ("logs: one block of 100", without_last_log),
        ("receipts of 100", without_last_log),
        ("estimate", result("0x1")),
    ],
)
def test_different_response_is_an_error_that_shows_both(filled: FilledNode, row: str, change: Any) -> None:
    ((method, _), *_) = BY_NAME[row].calls(filled)
    with another(filled.node.url, {method: change}) as other:
        matrix = MatrixRun([filled, beside(filled, other)], [BY_NAME[row]], EXTENT)
        with pytest.raises(BenchError, match=f"{row}: foreseal and other answer differently: .* and "):
            matrix.compare()


def test_unsupported_method_is_omitted_from_the_figures(filled: FilledNode) -> None:
    with another(filled.node.url, {"eth_getBlockReceipts": error(-32601, "no such method")}) as other:
        row = BY_NAME["receipts of 100"]
        matrix = MatrixRun([filled, beside(filled, other)], [row], EXTENT)
        matrix.compare()
        assert matrix.missing == {(row.name, "other"): "other: eth_getBlockReceipts: error -32601: no such method"}
        assert [cell.node for cell in matrix.closed(quiet)] == ["foreseal"]


def test_error_with_another_code_is_omitted_from_the_figures(filled: FilledNode) -> None:
    with another(filled.node.url, {"eth_call": error(-32603, "reverted")}) as other:
        row = BY_NAME["call that reverts"]
        matrix = MatrixRun([filled, beside(filled, other)], [row], EXTENT)
        matrix.compare()
        assert matrix.missing == {(row.name, "other"): "other: eth_call: error -32603: reverted"}


def test_node_without_websocket_has_no_websocket_figures(filled: FilledNode) -> None:
    with another(filled.node.url, {}) as other:
        matrix = MatrixRun([filled, beside(filled, other)], [BY_NAME["WebSocket request"]], EXTENT)
        matrix.compare()
        assert "does not open a WebSocket" in matrix.missing["WebSocket request", "other"]
        assert [cell.node for cell in matrix.closed(quiet)] == ["foreseal"]


def test_error_under_load_replaces_the_figure(filled: FilledNode) -> None:
    shown = r"other: .* wrong answers; the first, HTTP 200, an error: .*out of order"
    changes = {"eth_call": error(-32000, "out of order")}
    with another(filled.node.url, changes) as other, pytest.raises(BenchError, match=shown):
        other.load(BY_NAME["call"].bodies(filled), 2, 0.1)


def failed_receipt(call: dict[str, Any], answer: dict[str, Any]) -> Any:
    receipt = answer["result"]
    return answer | {"result": receipt and receipt | {"status": "0x0"}}


def other_hash(call: dict[str, Any], answer: dict[str, Any]) -> Any:
    return answer | {"result": "0x" + "0" * 64}


@pytest.mark.parametrize(
    ("method", "change", "message"),
    [
        ("eth_getTransactionReceipt", failed_receipt, "failed: status 0x0"),
        ("eth_sendRawTransaction", other_hash, "answered another hash"),
        (
            "eth_sendRawTransaction",
            error(-32000, "nonce too low"),
            "eth_sendRawTransaction: error -32000: nonce too low",
        ),
        ("eth_getCode", result("0x"), "the token is not where"),
        ("eth_getBalance", result("0x1"), "has too little ether"),
    ],
)
def test_node_that_builds_wrong_content_is_not_measured(
    node: BenchNode, method: str, change: Any, message: str
) -> None:
    changes = {method: change}
    if method == "eth_getBalance":
        changes["eth_accounts"] = result([])
    with another(node.url, changes) as other, pytest.raises(BenchError, match=message):
        ContentWriter(other, SHAPE)


def test_a_target_that_is_not_a_node_is_reported() -> None:
    node = BenchNode("nobody", "http://127.0.0.1:9")
    with pytest.raises(BenchError, match=r"nobody: http://127.0.0.1:9: .*refused"):
        node.call("eth_blockNumber")
    with pytest.raises(BenchError, match="nobody: cannot connect"):
        node.load([body("eth_blockNumber")], 1, 0.1)
    for url, why in (("https://a", "an http:// URL"), ("ws://a", "an http:// URL"), ("http:///x", "has no host")):
        with pytest.raises(ValueError, match=why):
            BenchNode("x", url)
