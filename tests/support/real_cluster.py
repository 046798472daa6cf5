"""A cluster of real processes on loopback for tests: etcd, leader, standbys and replicas of `foreseal run`."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from etcd_programs import etcd_program
from foreseal.bench.chain_content import SignedTransaction, account, native
from foreseal.cluster.etcd import EtcdCluster, MemberPorts
from foreseal.cluster.local_cluster import ClusterLayout, LocalCluster, running
from foreseal.cluster.node_process import NodeProcess
from foreseal.cluster.rpc_endpoint import RpcEndpoint
from live import wait_for
from repository import ROOT
from transfer_accounts import CHAIN_ID, funded_genesis

PROGRAM = (sys.executable, "-m", "foreseal")
_ENVIRONMENT = {"PYTHONPATH": str(ROOT / "python")}
_RECIPIENT = b"\xee" * 20


def describe_cluster(folder: Path, *, members: int = 3, standbys: int = 1, replicas: int = 1) -> LocalCluster:
    """Describe a cluster in a folder. Skips the test if etcd is not installed."""
    etcd = EtcdCluster(folder, etcd_program(), [MemberPorts() for _ in range(members)])
    layout = ClusterLayout(PROGRAM, standbys, replicas, environment=_ENVIRONMENT)
    return LocalCluster(folder, etcd, funded_genesis(), layout)


@contextmanager
def real_cluster(folder: Path, *, members: int = 3, standbys: int = 1, replicas: int = 1) -> Iterator[LocalCluster]:
    """Run such a cluster."""
    with running(describe_cluster(folder, members=members, standbys=standbys, replicas=replicas)) as cluster:
        yield cluster


def signed_transfer(nonce: int) -> SignedTransaction:
    """Return the transfer with this nonce."""
    (signed,) = replace(account(0), nonce=nonce).sign(CHAIN_ID, [native(_RECIPIENT)])
    return signed


def roles_of(cluster: LocalCluster) -> tuple[NodeProcess, NodeProcess]:
    """Return leader and standby, which a busy machine may have changed since the start."""

    def find_roles() -> tuple[NodeProcess, NodeProcess] | None:
        roles = {node.cluster_status().get("role"): node for node in cluster.sequencers}
        return (roles["leader"], roles["standby"]) if roles.keys() == {"leader", "standby"} else None

    return wait_for(find_roles, 30, "a leader and a standby")


def ask(node: NodeProcess, method: str, *params: Any) -> Any:
    """Return the result of a call that must be answered, however busy the machine is. Raises NodeError."""
    return RpcEndpoint(node.url, timeout=60).call(method, *params).result


def transfer(node: NodeProcess, nonce: int) -> str:
    """Send the transfer with this nonce, wait until it is in a step, and return its hash."""
    signed = signed_transfer(nonce)
    assert ask(node, "eth_sendRawTransaction", signed.raw) == signed.hash
    wait_for(lambda: node.call("eth_getTransactionReceipt", signed.hash), 20, "receipt")
    return signed.hash


def newest_step(node: NodeProcess) -> tuple[int, int, str]:
    """Return block, index and hash of the newest step."""
    status = ask(node, "foreseal_status")
    return int(status["block"], 16), int(status["index"], 16), status["hash"]
