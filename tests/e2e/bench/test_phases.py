"""Every phase on a real node, in its shortest form."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from benches.compare.long_chains import measure_lengths

from bench_shape import SHAPE, quiet
from foreseal.bench.call_matrix import ROWS
from foreseal.bench.chain_content import ContentShape, owner
from foreseal.bench.content_writer import ContentWriter, FilledNode
from foreseal.bench.fanout import fanout
from foreseal.bench.measurement import MatrixRun, MeasurementPlan, cells_reported
from foreseal.bench.node import BenchNode
from foreseal.bench.peers import KINDS, PeerProcess
from foreseal.bench.phases import generator
from foreseal.bench.throughput import compare_throughput
from foreseal.bench.visibility import visibility
from live_node import wait_until

EXTENT = MeasurementPlan(connections=(1, 2), seconds=0.05, repetitions=2)
# Every other row is enough, since all rows work alike.
SOME = ROWS[1::2]


@contextmanager
def filled_node(kind: str) -> Iterator[FilledNode]:
    """Start a node with its own content."""
    running = KINDS[kind]()
    try:
        yield ContentWriter(running.start(), SHAPE).fill(quiet)
    finally:
        running.close()


@pytest.fixture
def untouched() -> Iterator[FilledNode]:
    """Provide content to which no other test adds transactions; the order of tests over processes varies."""
    with filled_node("foreseal") as node:
        yield node


@pytest.fixture
def other() -> Iterator[FilledNode]:
    """Provide the same content behind the other transport."""
    with filled_node("foreseal-asgi") as node:
        yield node


def test_chain_content_is_at_its_expected_addresses(filled: FilledNode) -> None:
    node = filled.node
    assert len(filled.dense) == SHAPE.dense
    for number in filled.dense:
        block = node.call("eth_getBlockByNumber", hex(number), True)
        assert len(block["transactions"]) == SHAPE.transfers
        assert {one["to"] for one in block["transactions"]} == {"0x" + filled.contents.token.hex()}
    assert filled.dense == (filled.head - 11, filled.head - 1)
    assert filled.heights == tuple(range(filled.head - SHAPE.blocks + 1, filled.head + 1))
    # Blocks 0, 1, 2 and so on have one plain transfer of 1, 2, 3 wei each, except the dense ones.
    sparse = sum(1 + number for number in range(SHAPE.blocks) if not SHAPE.is_dense(number) and number % 100 == 4)
    assert int(node.call("eth_getBalance", "0x" + owner(4).hex(), "latest"), 16) == sparse == 5


def test_both_transports_return_equal_reads_and_alternate(untouched: FilledNode, other: FilledNode) -> None:
    every = MatrixRun([untouched, other], ROWS, EXTENT)
    every.compare()
    assert every.missing == {}
    matrix = MatrixRun([untouched, other], SOME, EXTENT)
    order: list[str] = []
    closed = matrix.closed(lambda update: order.append(update.activity))
    cells = cells_reported(closed, other.node.name)
    assert len(cells) == len(SOME) * 2 * 2
    # Each row with each number of connections on both nodes, in pairs, twice; then the end.
    assert len(order) == len(cells) * 2 + 1
    for one, two in zip(order[:-1:2], order[1:-1:2], strict=True):
        assert one.rpartition(", ")[0] == two.rpartition(", ")[0]
        assert one != two
    assert order[: len(cells)] != order[len(cells) : -1]
    for cell in cells:
        assert cell["requests_per_second"] > 0
        assert cell["latency"]["p99_ms"] >= cell["latency"]["p50_ms"] > 0
        assert cell["unanswered"] == 0
        assert (cell["ratio"] is None) == (cell["node"] == other.node.name)
    sizes = {(cell["row"], cell["node"]): cell["answer_bytes"] for cell in cells}
    assert sizes["block of 100, full", untouched.node.name] == sizes["block of 100, full", other.node.name]
    open_loop = cells_reported(matrix.open(closed, quiet), other.node.name)
    assert {cell["loop"] for cell in open_loop} == {"open"}
    for row in {cell["row"] for cell in open_loop}:
        assert len({cell["offered_per_second"] for cell in open_loop if cell["row"] == row}) == 1


def test_every_sent_transaction_is_included(filled: FilledNode) -> None:
    senders = filled.contents.senders
    before = [sender.nonce for sender in senders]
    rows = compare_throughput([filled], 200, 1, 1, None, quiet)
    assert [each["transactions"] for each in rows] == [200] * 3
    assert all(each["transactions_per_second"] > 0 for each in rows)
    address = "0x" + senders[3].address.hex()
    assert int(filled.node.call("eth_getTransactionCount", address, "pending"), 16) == before[3] + 6


def test_submission_is_visible_in_the_nonce_before_the_receipt(filled: FilledNode) -> None:
    figures = visibility(filled, 4, quiet)
    assert figures["samples"] == 4
    assert 0 < figures["nonce"]["p50_ms"] <= figures["receipt"]["p50_ms"] < 5_000


def test_every_subscriber_receives_every_transfer(filled: FilledNode) -> None:
    figures = fanout(filled, 4, 3)
    assert (figures["subscribers"], figures["notifications"]) == (4, 12)
    assert figures["bytes_per_notification"] > 300


def test_chains_of_several_lengths() -> None:
    running = KINDS["foreseal"]()
    try:
        rows = measure_lengths(running.start(), (300, 600), EXTENT, quiet)
    finally:
        running.close()
    assert {each["blocks"] for each in rows} == {300, 600}
    assert all(each["requests_per_second"] > 0 and each["resident_mb"] > 10 for each in rows)


def test_restarted_node_has_its_chain(started: PeerProcess, filled: FilledNode) -> None:
    node = filled.node
    before = node.call("eth_getBlockByNumber", hex(filled.head), False)["hash"]
    port, pid = node.port, node.processes and node.processes.pid
    started.stop()
    started.start(node)
    assert node.port == port
    assert node.processes is not None
    assert node.processes.pid != pid
    assert node.call("eth_getBlockByNumber", hex(filled.head), False)["hash"] == before


def test_the_generator_reports_its_capacity() -> None:
    figures = generator(EXTENT, quiet)
    assert [(each["transport"], each["connections"]) for each in figures] == [
        (transport, count) for transport in ("HTTP", "WebSocket") for count in (1, 2)
    ]
    assert all(each["requests_per_second"] > 0 for each in figures)


@pytest.mark.parametrize("transport", ["native", "asgi"])
def test_named_transport_is_the_one_that_the_node_reports(transport: str) -> None:
    running = KINDS[f"foreseal-{transport}"]()
    try:
        node = running.start()
        assert node.name == f"foreseal-{transport}"
        wait_until(lambda: running.transport == transport)
    finally:
        running.close()


def test_the_processes_of_a_node_are_found_by_its_port(node: BenchNode) -> None:
    processes = node.processes
    assert processes is not None
    assert processes.resident() > 10_000_000
    before = processes.cpu()
    node.load([b'{"jsonrpc":"2.0","id":1,"method":"eth_blockNumber","params":[]}'], 4, 0.3)
    assert processes.cpu() > before


def test_invalid_shape_is_rejected() -> None:
    for wrong in ({"blocks": 1}, {"dense": 0}, {"transfers": 0}, {"blocks": 100, "dense": 5}):
        with pytest.raises(ValueError, match="block"):
            ContentShape(**wrong)
