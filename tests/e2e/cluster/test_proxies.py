"""HAProxy and nginx with the configurations of `deploy`: reads continue when the leader is killed."""

import contextlib
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from foreseal.cluster.local_cluster import LocalCluster
from foreseal.cluster.rpc_endpoint import RpcEndpoint
from foreseal.errors import NodeError
from foreseal.ports import next_free_port
from live import wait_for
from live.proxies import describe_haproxy, describe_nginx, require_program, running_proxy
from raw_websocket import RawWebSocket
from real_cluster import real_cluster, signed_transfer
from repository import ROOT

DESCRIBE = {"haproxy": describe_haproxy, "nginx": describe_nginx}
# Calls of one test; each is repeated until it is answered.
_READS = 40


@contextlib.contextmanager
def proxy(name: str, folder: Path, port: int, cluster: LocalCluster) -> Iterator[RpcEndpoint]:
    """Run a proxy until it forwards to a node, and yield its endpoint."""
    process = DESCRIBE[name](require_program(name), folder, port, [node.port for node in cluster.nodes])
    endpoint = RpcEndpoint(f"http://127.0.0.1:{port}", timeout=10)
    with running_proxy(process, port):
        wait_for(lambda: _answer(endpoint, "eth_chainId"), 30, "proxy")
        yield endpoint


def _answer(endpoint: RpcEndpoint, method: str, *params: Any) -> Any:
    """Return the result of a call; None if it failed."""
    try:
        return endpoint.call(method, *params).result
    except NodeError:
        return None


def _until_answered(endpoint: RpcEndpoint, method: str, *params: Any) -> tuple[Any, int]:
    """Repeat a call until it is answered. Return its result and the number of failures."""
    failures = 0
    while (result := _answer(endpoint, method, *params)) is None:
        failures += 1
        assert failures < 20, f"{method} is not answered"
    return result, failures


def _subscribed(port: int) -> None:
    """Open a WebSocket through the proxy and wait for one notification."""
    with RawWebSocket(port) as connection:
        assert str(connection.request("eth_subscribe", "newHeads")).startswith("0x")
        assert connection.hear()["method"] == "eth_subscription"


def _check(cluster: LocalCluster, endpoint: RpcEndpoint, port: int) -> None:
    leader, standby = cluster.sequencers
    assert isinstance(endpoint.call("foreseal_status").result, dict)
    _subscribed(port)
    transfer = signed_transfer(0)
    assert endpoint.call("eth_sendRawTransaction", transfer.raw).result == transfer.hash
    wait_for(lambda: _answer(endpoint, "eth_getTransactionReceipt", transfer.hash), 30, "receipt")
    before = int(endpoint.call("eth_blockNumber").result, 16)
    leader.kill()
    failures = 0
    for _ in range(_READS):
        number, failed = _until_answered(endpoint, "eth_blockNumber")
        assert int(number, 16) >= before
        failures += failed
    # A request that the leader had received when it ended is not repeated.
    assert failures <= 2
    wait_for(lambda: standby.cluster_status().get("role") == "leader", 30, "takeover")
    transfer = signed_transfer(1)
    assert _until_answered(endpoint, "eth_sendRawTransaction", transfer.raw)[0] == transfer.hash
    wait_for(lambda: _answer(endpoint, "eth_getTransactionReceipt", transfer.hash), 30, "receipt at the new leader")
    _subscribed(port)


@pytest.mark.parametrize("name", DESCRIBE)
def test_reads_continue_when_the_leader_is_killed(tmp_path: Path, name: str) -> None:
    require_program(name)
    port = next_free_port()
    with (
        real_cluster(tmp_path / "cluster", members=1) as cluster,
        proxy(name, tmp_path, port, cluster) as endpoint,
    ):
        _check(cluster, endpoint, port)


@pytest.mark.parametrize("name", DESCRIBE)
def test_reads_continue_without_a_quorum(tmp_path: Path, name: str) -> None:
    require_program(name)
    with (
        real_cluster(tmp_path / "cluster", members=1) as cluster,
        proxy(name, tmp_path, next_free_port(), cluster) as endpoint,
    ):
        before = int(endpoint.call("eth_blockNumber").result, 16)
        cluster.etcd.members[0].kill()
        wait_for(lambda: not any(node.is_ready() for node in cluster.nodes), 30, "end of readiness")
        for _ in range(_READS):
            assert int(_until_answered(endpoint, "eth_blockNumber")[0], 16) >= before
        cluster.etcd.start()
        wait_for(lambda: all(node.is_ready() for node in cluster.nodes), 60, "readiness")
        number = int(_until_answered(endpoint, "eth_blockNumber")[0], 16)
        wait_for(lambda: int(_answer(endpoint, "eth_blockNumber") or "0x0", 16) > number, 30, "next block")


def test_alerts_fire_on_their_symptoms() -> None:
    rules = ROOT / "deploy" / "prometheus" / "foreseal-cluster.tests.yml"
    subprocess.run([require_program("promtool"), "test", "rules", str(rules)], check=True, capture_output=True)
