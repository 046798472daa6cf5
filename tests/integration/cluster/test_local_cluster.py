"""A whole cluster of doubles on a real etcd: start, takeover, load balancing, and the end of all processes."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from cluster_double.chain import GENESIS_HASH
from etcd_programs import etcd_program
from foreseal.cluster.etcd import EtcdCluster, stored_ports
from foreseal.cluster.launched_process import LaunchedProcess
from foreseal.cluster.load_balancer import LoadBalancer
from foreseal.cluster.local_cluster import ClusterLayout, LocalCluster, running
from foreseal.errors import NodeError
from foreseal.server.sockets.listening import listen
from live import wait_for
from real_cluster import ask, roles_of
from repository import PYTHONPATH, ROOT

DOUBLE = (sys.executable, "-m", "cluster_double")
STATUS = {"jsonrpc": "2.0", "id": 1, "method": "foreseal_status", "params": []}


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[LocalCluster]:
    """Run three members, a leader, a standby and two replicas."""
    environment = {"PYTHONPATH": os.pathsep.join((PYTHONPATH, str(ROOT / "python")))}
    etcd = EtcdCluster(tmp_path, etcd_program(), stored_ports(tmp_path))
    with running(LocalCluster(tmp_path, etcd, b"{}", ClusterLayout(DOUBLE, environment=environment))) as local_cluster:
        yield local_cluster
    assert not any(process.is_running for process in local_cluster.processes)


async def call_through(balancer: LoadBalancer) -> dict[str, object]:
    """Return the status of the process that the load balancer chooses."""
    body = json.dumps(STATUS).encode()
    reader, writer = await asyncio.open_connection("127.0.0.1", balancer.port)
    try:
        writer.write(b"POST / HTTP/1.1\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
        answer = await asyncio.wait_for(reader.read(), 10)
    finally:
        writer.close()
        await writer.wait_closed()
    status: dict[str, object] = json.loads(answer.partition(b"\r\n\r\n")[2])["result"]["cluster"]
    return status


async def reached_roles(ports: list[int]) -> set[object]:
    """Return the roles of the processes that many connections reach."""
    balancer = LoadBalancer(ports)
    await balancer.start(listen("127.0.0.1", 0))
    try:
        return {(await call_through(balancer))["role"] for _ in range(4)}
    finally:
        await balancer.stop()


def test_standby_continues_the_chain_after_the_leader_is_killed(cluster: LocalCluster) -> None:
    leader, standby = roles_of(cluster)
    assert [ask(node, "foreseal_status")["cluster"]["role"] for node in cluster.replicas] == ["replica"] * 2
    leader.kill()
    wait_for(lambda: standby.cluster_status().get("role") == "leader", 30, "takeover")
    cursor = {"block": "0x0", "index": "0x0", "hash": GENESIS_HASH}
    replica = cluster.replicas[0]

    def count() -> int:
        return len(ask(replica, "foreseal_getFlashblocks", cursor, "0x1000")["flashblocks"])

    before = count()
    wait_for(lambda: count() > before, 30, "a new step")


def test_load_balancer_uses_ready_processes_only(cluster: LocalCluster) -> None:
    leader, standby = roles_of(cluster)
    for replica in cluster.replicas:
        replica.kill()
    ports = [node.port for node in cluster.nodes]
    assert asyncio.run(reached_roles(ports)) <= {"leader", "standby"}
    standby.kill()
    wait_for(lambda: leader.cluster_status().get("role") == "leader", 30, "leader")
    assert asyncio.run(reached_roles(ports)) == {"leader"}
    wait_for(leader.is_ready, 30, "readiness")


def test_key_and_token_are_private_and_remain(cluster: LocalCluster, tmp_path: Path) -> None:
    files = cluster.files
    assert [path.stat().st_mode & 0o777 for path in (files.sequencer_key, files.token)] == [0o600, 0o600]
    assert len(files.sequencer_key.read_text().strip()) == 64
    assert cluster.sequencers[0].files.sequencer_key == cluster.sequencers[1].files.sequencer_key


def test_failure_is_the_message_of_the_last_run(tmp_path: Path) -> None:
    log = tmp_path / "log.txt"
    log.write_text("foreseal: an earlier run\n")
    script = "print('noise'); print('foreseal: the reason'); print('more noise'); raise SystemExit(2)"
    process = LaunchedProcess("node", (sys.executable, "-c", script), log)
    process.start()
    process.wait_for_end()
    with pytest.raises(NodeError) as error:
        process.check_running()
    assert error.value.message == f"node ended with exit code 2: the reason (log: {log})"


def test_stopped_processes_are_reported_in_order(cluster: LocalCluster) -> None:
    cluster.replicas[0].kill()
    stopped: list[str] = []
    cluster.stop(lambda process: stopped.append(process.name))
    assert stopped == ["replica-2", "standby-1", "leader", "etcd-1", "etcd-2", "etcd-3"]


def test_failed_start_names_the_process_and_its_output(tmp_path: Path) -> None:
    etcd = EtcdCluster(tmp_path, etcd_program(), stored_ports(tmp_path))
    cluster = LocalCluster(tmp_path, etcd, b"{}", ClusterLayout((sys.executable, "-c", "raise SystemExit('broken')")))
    expected = rf"leader ended with exit code 1: broken \(log: {tmp_path}/leader/log.txt\)"
    with pytest.raises(NodeError, match=expected), running(cluster):
        pass
    assert not any(process.is_running for process in cluster.processes)


def test_processes_end_with_the_process_that_launched_them(tmp_path: Path) -> None:
    script = (
        "import sys, time, pathlib\n"
        "from foreseal.cluster.launched_process import LaunchedProcess\n"
        "process = LaunchedProcess('child', ('sleep', '100'), pathlib.Path(sys.argv[1]))\n"
        "process.start()\n"
        "print(process.pid, flush=True)\n"
        "time.sleep(100)\n"
    )
    command = (sys.executable, "-c", script, str(tmp_path / "log"))
    environment = os.environ | {"PYTHONPATH": str(ROOT / "python")}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as launcher:
        assert launcher.stdout is not None
        child = Path("/proc") / launcher.stdout.readline().strip()
        wait_for(lambda: (child / "cmdline").read_bytes().startswith(b"sleep"), 30, "the program")
        launcher.kill()
        launcher.wait()

    def is_gone() -> bool:
        try:
            return "\nState:\tZ" in (child / "status").read_text()
        except OSError:
            return True

    wait_for(is_gone, 30, "end of the child")
