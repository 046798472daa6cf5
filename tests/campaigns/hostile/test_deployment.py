"""Deployments of a node under attack in the gate: a replica follows a burst of large receipts, also after a restart."""

from dataclasses import replace

import pytest

from foreseal.testing import Chain, ChainSettings
from hostile.build import Build
from hostile.campaign import Campaign, Plan
from hostile.deployment.answers import differences, faults
from hostile.deployment.kinds import KINDS, REPLICA, RESTART, parse_kinds
from hostile.deployment.lag import LagRecorder
from hostile.deployment.peer import Cursor, Peer, wait_until
from hostile.deployment.proofs import verify_account
from hostile.deployment.results import Answer
from hostile.trial import GATE_BOUNDS, Trial

_BOUNDS = replace(GATE_BOUNDS, memory=512 * 1024, left_memory=512 * 1024)
"""The burst fills caches, whose budget other tests check."""


class RecordedPeer(Peer):
    """A process that reaches the newest step at a given poll."""

    def __init__(self, name: str, polls: int) -> None:
        super().__init__(name)
        self.polls = polls

    def behind(self, target: Cursor) -> str:
        self.polls -= 1
        return f"{self.polls} steps before {target.index}" if self.polls > 0 else ""

    def close(self) -> None:
        """Do nothing."""


def _burst() -> Trial:
    """Run the burst; on a busy machine, hostile clients at nice 19 need longer for their first transaction."""
    for seconds in (2.0, 8.0, 32.0):
        plan = Plan(("block-logs-n1",), (1,), ("native",), seconds, 1.0, _BOUNDS, deployment=(REPLICA, RESTART))
        (trial,) = Campaign(Build.beside(), plan).run()
        deployment = trial.deployment
        if (
            deployment is not None
            and deployment.comparison.subject is not None
            and deployment.comparison.subject.is_hostile
        ):
            break
    return trial


@pytest.mark.timeout(300)
def test_replica_has_the_answers_of_the_node_after_a_burst_and_a_restart() -> None:
    trial = _burst()
    assert trial.failures == []
    deployment = trial.deployment
    assert deployment is not None
    assert deployment.restart is not None
    assert [arrival.peer for arrival in deployment.arrivals] == ["node", "replica"]
    assert deployment.comparison.subject is not None
    assert deployment.comparison.subject.is_hostile
    assert deployment.comparison.answers["eth_getTransactionReceipt"].bytes > 1 << 23
    assert deployment.restart.exit_code == 0
    assert deployment.restart.ready_seconds is not None
    assert deployment.restart.comparison.subject is not None


def test_answers_that_differ_are_named_with_their_sizes() -> None:
    expected = {"eth_getProof": Answer("aa", 10), "eth_getBlockReceipts": Answer("bb", 90, -32005)}
    actual = {**expected, "eth_getProof": Answer("cc", 12)}
    assert differences("replica", expected, expected) == []
    assert differences("replica", expected, actual) == [
        "replica answers eth_getProof differently: 12 bytes (cc), not 10 bytes (aa)"
    ]
    assert faults("node", expected) == []
    assert faults("node", {"eth_getProof": Answer("aa", 90, -32601)}) == ["node answers eth_getProof with error -32601"]


def test_peer_behind_at_the_limit_is_named_with_its_distance() -> None:
    target = Cursor(7, 3, "0x01")
    arrivals = wait_until([RecordedPeer("replica", 2), RecordedPeer("standby-1", 10**6)], target, 0.3)
    assert [(arrival.peer, arrival.seconds is None) for arrival in arrivals] == [
        ("replica", False),
        ("standby-1", True),
    ]
    assert arrivals[1].behind.endswith("steps before 3")


def test_largest_lag_counts_from_the_first_missing_step() -> None:
    recorder = LagRecorder(["replica", "standby-1"])
    for at in (1.0, 2.0, 3.0):
        recorder.add_step(at, (7, int(at)))
        recorder.add("replica", at + 0.25, (7, int(at)))
        recorder.add("standby-1", at + 0.25, (7, 1) if at < 2 else None)
    assert recorder.largest == {"replica": 0.25, "standby-1": 1.25}


def test_proof_with_another_value_or_without_a_node_is_invalid() -> None:
    address, slots = "0x" + "c0de" * 10, ["0x1", "0x2", "0x3"]
    with Chain(ChainSettings(accounts=20)) as chain:
        for slot in slots[:2]:
            chain.rpc("anvil_setStorageAt", address, slot, f"0x{int(slot, 16) << 200:064x}")
        chain.rpc("anvil_setCode", address, "0x00")
        chain.mine()
        root = chain.rpc("eth_getBlockByNumber", "latest", False)["stateRoot"]
        proof = chain.rpc("eth_getProof", address, slots, "latest")
        absent = chain.rpc("eth_getProof", "0x" + "ab" * 20, [], "latest")
    assert verify_account(proof, root) == verify_account(absent, root) == ""
    assert [slot["value"] != "0x0" for slot in proof["storageProof"]] == [True, True, False]
    assert "is not that of the state root" in verify_account(proof | {"balance": "0x1"}, root)
    assert "the proof is incomplete" in verify_account(proof | {"accountProof": proof["accountProof"][:-1]}, root)
    changed = [slot | {"value": "0x5"} for slot in proof["storageProof"]]
    assert "slot 0x1" in verify_account(proof | {"storageProof": changed}, root)


def test_unknown_kind_of_deployment_is_rejected() -> None:
    assert parse_kinds(",".join(KINDS)) == tuple(KINDS)
    with pytest.raises(ValueError, match="'standby' is none of workers"):
        parse_kinds("replica,standby")
