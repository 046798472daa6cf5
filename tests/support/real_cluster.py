"""A cluster of real processes on loopback for tests: etcd, leader, standbys and replicas of `foreseal run`."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import orjson

from etcd_programs import etcd_program
from foreseal._core import derive_accounts, sign_transactions
from foreseal.cli.genesis import build_genesis
from foreseal.cluster.etcd import EtcdCluster, MemberPorts
from foreseal.cluster.local_cluster import ClusterLayout, LocalCluster, running
from foreseal.cluster.node_process import NodeProcess
from live import wait_for
from repository import ROOT

CHAIN_ID = 31337
PROGRAM = (sys.executable, "-m", "foreseal")
_ENVIRONMENT = {"PYTHONPATH": str(ROOT / "python")}
_MNEMONIC = "test test test test test test test test test test test junk"
_FEES = (20 * 10**9, 10**9)
_FUNDS = 10**24


def describe_cluster(folder: Path, *, members: int = 3, standbys: int = 1, replicas: int = 1) -> LocalCluster:
    """Describe a cluster in a folder. Skips the test if etcd is not installed."""
    etcd = EtcdCluster(folder, etcd_program(), [MemberPorts() for _ in range(members)])
    genesis = orjson.dumps(build_genesis(CHAIN_ID, [(address, _FUNDS) for address, _ in accounts()]))
    return LocalCluster(folder, etcd, genesis, ClusterLayout(PROGRAM, standbys, replicas, environment=_ENVIRONMENT))


@contextmanager
def real_cluster(folder: Path, *, members: int = 3, standbys: int = 1, replicas: int = 1) -> Iterator[LocalCluster]:
    """Run such a cluster."""
    with running(describe_cluster(folder, members=members, standbys=standbys, replicas=replicas)) as cluster:
        yield cluster


def accounts() -> list[tuple[str, str]]:
    """Return address and key of the funded accounts."""
    return derive_accounts(_MNEMONIC, 4)


def signed_transfer(nonce: int) -> tuple[str, str]:
    """Return a raw transfer with this nonce and its hash."""
    key = bytes.fromhex(accounts()[0][1].removeprefix("0x"))
    ((raw, digest),) = sign_transactions(key, CHAIN_ID, _FEES, nonce, [(b"\xee" * 20, 1, 21_000, b"")])
    return "0x" + raw.hex(), "0x" + digest.hex()


def transfer(node: NodeProcess, nonce: int) -> str:
    """Send the transfer with this nonce, wait until it is in a step, and return its hash."""
    raw, digest = signed_transfer(nonce)
    assert node.call("eth_sendRawTransaction", raw) == digest
    wait_for(lambda: node.call("eth_getTransactionReceipt", digest), 20, "receipt")
    return digest


def newest_step(node: NodeProcess) -> tuple[int, int, str]:
    """Return block, index and hash of the newest step."""
    status = node.call("foreseal_status")
    return int(status["block"], 16), int(status["index"], 16), status["hash"]
