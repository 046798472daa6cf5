"""HAProxy and nginx with the configurations of `deploy`: reads continue when the leader is killed."""

import contextlib
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from foreseal.cluster.local_cluster import LocalCluster
from foreseal.cluster.rpc_endpoint import RpcEndpoint
from foreseal.errors import NodeError
from foreseal.ports import next_free_port
from live import wait_for
from raw_websocket import RawWebSocket
from real_cluster import real_cluster, signed_transfer
from repository import ROOT

_DEPLOY = ROOT / "deploy"
_SBIN = "/usr/sbin:/usr/local/sbin"
# Calls of one test; each is repeated until it is answered.
_READS = 40


def _program(name: str) -> str:
    found = shutil.which(name) or shutil.which(name, path=_SBIN)
    if found is None:
        pytest.skip(f"{name} is not installed")
    return found


def _replaced(text: str, replacements: dict[str, str]) -> str:
    """Return a configuration with its addresses replaced."""
    for old, new in replacements.items():
        assert old in text, old
        text = text.replace(old, new)
    return text


def _backends(ports: list[int]) -> dict[str, str]:
    return {f"10.0.0.{number}:8545": f"127.0.0.1:{port}" for number, port in enumerate(ports, 1)}


def haproxy_command(folder: Path, port: int, ports: list[int]) -> list[str]:
    """Write the configuration without TLS to a folder, check it, and return the command of HAProxy."""
    program = _program("haproxy")
    text = (_DEPLOY / "haproxy" / "haproxy.cfg").read_text()
    listen = {"bind :443 ssl crt /etc/haproxy/foreseal.pem": f"bind 127.0.0.1:{port}"}
    file = folder / "haproxy.cfg"
    file.write_text(_replaced(text, listen | _backends(ports)))
    subprocess.run([program, "-c", "-f", str(file)], check=True, capture_output=True)
    return [program, "-db", "-f", str(file)]


def nginx_command(folder: Path, port: int, ports: list[int]) -> list[str]:
    """Write the configuration without TLS to a folder, check it, and return the command of nginx."""
    program = _program("nginx")
    text = (_DEPLOY / "nginx" / "foreseal-cluster.conf").read_text()
    text = re.sub(r"    ssl_certificate.*\n", "", text)
    text = _replaced(text, {"listen 443 ssl;": f"listen 127.0.0.1:{port};"} | _backends(ports))
    paths = "".join(
        f"{kind}_temp_path {folder}/{kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    file = folder / "nginx.conf"
    head = f"daemon off; master_process off; pid {folder}/nginx.pid; error_log {folder}/error.log; events {{}}\n"
    file.write_text(f"{head}http {{ access_log off; {paths}\n{text}\n}}\n")
    arguments = [program, "-e", str(folder / "error.log"), "-c", str(file)]
    subprocess.run([*arguments, "-t"], check=True, capture_output=True)
    return arguments


@contextlib.contextmanager
def proxy(command: list[str], port: int) -> Iterator[RpcEndpoint]:
    """Run a proxy until it forwards to a node, and yield its endpoint."""
    process = subprocess.Popen(command)
    endpoint = RpcEndpoint(f"http://127.0.0.1:{port}", timeout=10)
    try:
        wait_for(lambda: _answer(endpoint, "eth_chainId"), 30, "proxy")
        yield endpoint
    finally:
        process.terminate()
        process.wait(20)


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
    raw, digest = signed_transfer(0)
    assert endpoint.call("eth_sendRawTransaction", raw).result == digest
    wait_for(lambda: _answer(endpoint, "eth_getTransactionReceipt", digest), 30, "receipt")
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
    raw, digest = signed_transfer(1)
    assert _until_answered(endpoint, "eth_sendRawTransaction", raw)[0] == digest
    wait_for(lambda: _answer(endpoint, "eth_getTransactionReceipt", digest), 30, "receipt at the new leader")
    _subscribed(port)


@pytest.mark.parametrize("command", [haproxy_command, nginx_command], ids=["haproxy", "nginx"])
def test_reads_continue_when_the_leader_is_killed(
    tmp_path: Path, command: Callable[[Path, int, list[int]], list[str]]
) -> None:
    _program(command.__name__.partition("_")[0])
    with real_cluster(tmp_path / "cluster", members=1) as cluster:
        port = next_free_port()
        arguments = command(tmp_path, port, [node.port for node in cluster.nodes])
        with proxy(arguments, port) as endpoint:
            _check(cluster, endpoint, port)


@pytest.mark.parametrize("command", [haproxy_command, nginx_command], ids=["haproxy", "nginx"])
def test_reads_continue_without_a_quorum(tmp_path: Path, command: Callable[[Path, int, list[int]], list[str]]) -> None:
    _program(command.__name__.partition("_")[0])
    with real_cluster(tmp_path / "cluster", members=1) as cluster:
        port = next_free_port()
        with proxy(command(tmp_path, port, [node.port for node in cluster.nodes]), port) as endpoint:
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
    rules = _DEPLOY / "prometheus" / "foreseal-cluster.tests.yml"
    subprocess.run([_program("promtool"), "test", "rules", str(rules)], check=True, capture_output=True)
