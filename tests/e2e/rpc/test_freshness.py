"""Stopped production on a live node: a disk that rejects all writes, like a full one."""

import re
import resource
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from live import DEV_ACCOUNTS, HttpAnswer, LiveNode, Rpc, RpcFailure, live_node, wait_for
from live.blocks import wait_for_block
from live.process import FAST, foreseal_command
from live.sending import Sender, signed
from raw_websocket import RawWebSocket

ACCOUNT, OTHER = DEV_ACCOUNTS[0], DEV_ACCOUNTS[1]
PENDING = ("eth_getBlockByNumber", "pending", True)
LATEST = ("eth_getBlockByNumber", "latest", True)

# Number and index of the step, and ms since the last tick.
_VIEW = re.compile(r"(\d+)\.(\d+); age=(\d+)")
_BODY = b'{"jsonrpc":"2.0","id":1,"method":"eth_blockNumber"}'

STOPPED = "production stopped: "
OLD = 5_000
"""Milliseconds since the last tick after which a node is stale."""


def fill_disk(node: LiveNode) -> None:
    """Make every write of the process to a file fail once it has sealed a block, like on a full disk.

    Before, the process may still check its start every 50 ms, and would end with the failure.
    """
    wait_for(lambda: int(node.rpc("eth_blockNumber"), 16) > 0, 30, "the first block")
    _, hard = resource.prlimit(node.process.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(node.process.pid, resource.RLIMIT_FSIZE, (0, hard))


def page(rpc: Rpc, path: str) -> HttpAnswer:
    return rpc.request("GET", path)


def view_of(answer: HttpAnswer) -> tuple[int, int, int]:
    """Return the contents of `X-Foreseal-View`: block, index, age in ms."""
    match = _VIEW.fullmatch(answer.headers["x-foreseal-view"])
    assert match, answer.headers
    block, index, age = map(int, match.groups())
    return block, index, age


def age_in_metrics(rpc: Rpc) -> float:
    """Return the age in milliseconds."""
    match = re.search(r"^foreseal_view_age_seconds (\S+)$", page(rpc, "/metrics").body.decode(), re.MULTILINE)
    assert match
    return float(match[1]) * 1000


def stop_production(node: LiveNode) -> dict[str, Any]:
    """Fill the disk, wait until the node notices, and return its status."""
    fill_disk(node)

    def failed() -> dict[str, Any] | None:
        status: dict[str, Any] = node.rpc("foreseal_status")
        return status if status["phase"] == "failed" else None

    return wait_for(failed, 30, "failure of production")


def test_full_disk_is_reported_everywhere_and_reads_continue(tmp_path: Path) -> None:
    command = [foreseal_command(), "dev", "--port", "0", *FAST, "--datadir", str(tmp_path)]
    node = LiveNode(command)
    rpc = node.rpc
    assert [page(rpc, path).status for path in ("/healthz", "/readyz")] == [200, 200]
    promised = Sender(rpc, ACCOUNT).send(to=OTHER.address, value=1)
    wait_for(lambda: rpc("eth_getTransactionReceipt", promised), 10, "receipt")

    reason = stop_production(node)["reason"]
    assert "journal" in reason or "store" in reason
    status, pending, latest, receipt = rpc.batch(
        ("foreseal_status",), PENDING, LATEST, ("eth_getTransactionReceipt", promised)
    )
    assert int(pending["number"], 16) == int(latest["number"], 16) + 1
    assert (pending["parentHash"], pending["hash"] != latest["hash"]) == (latest["hash"], True)
    assert (status["block"], status["hash"]) == (pending["number"], pending["hash"])

    # Health reports the reason at once; the age grows until the view is stale, and nothing else changes.
    wait_for(lambda: view_of(rpc.post(_BODY))[2] > OLD, 30, "a view that is too old")
    for path in ("/healthz", "/readyz"):
        answer = page(rpc, path)
        assert (answer.status, answer.body.decode().splitlines()[0]) == (503, f"{STOPPED}{reason}")
    ages = [
        status["age"],
        rpc("foreseal_status")["age"],
        view_of(rpc.post(_BODY))[2],
        rpc("foreseal_status")["age"],
        age_in_metrics(rpc),
    ]
    assert ages == sorted(ages)
    assert ages[1] > OLD
    block, index, _ = view_of(rpc.post(_BODY))
    assert (hex(block), hex(index)) == (status["block"], status["index"])
    assert "foreseal_ready 0" in page(rpc, "/metrics").body.decode().splitlines()
    assert rpc.batch(PENDING, LATEST, ("eth_getTransactionReceipt", promised)) == [pending, latest, receipt]

    # Submissions of every form are rejected for the same reason.
    nonce = Sender(rpc, ACCOUNT).nonce()
    for method in ("eth_sendRawTransaction", "eth_sendRawTransactionSync"):
        with pytest.raises(RpcFailure) as refused:
            rpc(method, signed(ACCOUNT, nonce))
        assert (refused.value.code, refused.value.message) == (
            -32002,
            f"production stopped, so no transactions are accepted: {reason}",
        )
    assert Sender(rpc, ACCOUNT).nonce() == nonce

    # It stops on the signal, and with free disk space it resumes from the same step.
    node.rpc.close()
    node.process.send_signal(signal.SIGTERM)
    assert node.process.wait(30) == 0
    node = LiveNode(command)
    try:
        kept = node.rpc("eth_getTransactionReceipt", promised)
        assert kept == receipt
        wait_for_block(node.rpc, int(pending["number"], 16))
        assert node.rpc("eth_getBlockByNumber", pending["number"], True) == pending
        assert [page(node.rpc, path).status for path in ("/healthz", "/readyz")] == [200, 200]
    finally:
        assert node.stop() == 0


def test_heartbeats_end_with_production_and_connections_stay_open() -> None:
    with live_node() as node, RawWebSocket(int(node.url.rpartition(":")[2])) as feed:
        assert feed.request("eth_subscribe", "foreseal_feed").startswith("0x")
        heard = feed.hear()["params"]["result"]
        while "heartbeat" not in heard:
            heard = feed.hear()["params"]["result"]
        status = stop_production(node)
        # In-flight messages precede the response; no tick or step follows them.
        feed.call("eth_blockNumber")
        while "id" not in (message := feed.hear()):
            heard = message["params"]["result"]
        assert message["result"] == status["latest"]
        place = heard.get("heartbeat") or {"block": heard["number"], "index": heard["index"], "hash": heard["hash"]}
        assert place == {name: status[name] for name in ("block", "index", "hash")}
        wait_for(lambda: node.rpc("foreseal_status")["age"] > 500, 30, "the time of ten ticks")
        assert feed.request("eth_blockNumber") == status["latest"]


def test_a_receipt_wait_fails_when_production_ends() -> None:
    with live_node() as node:
        nonce = Sender(node.rpc, ACCOUNT).nonce()
        fill_disk(node)
        # The call is pooled before the failed write or rejected after it; either way it fails at once with the reason.
        began = time.monotonic()
        with pytest.raises(RpcFailure, match="production stopped") as ended:
            node.rpc("eth_sendRawTransactionSync", signed(ACCOUNT, nonce), 30_000)
        assert ended.value.code == -32002
        assert time.monotonic() - began < 15
        status = stop_production(node)
        with pytest.raises(RpcFailure, match="production stopped"):
            node.rpc("eth_sendRawTransactionSync", signed(ACCOUNT, nonce + 1), 1_000)
        assert node.rpc("eth_getTransactionCount", ACCOUNT.address, "latest") == hex(nonce)
        assert node.rpc("foreseal_status")["hash"] == status["hash"]
