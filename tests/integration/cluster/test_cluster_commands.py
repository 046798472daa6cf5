"""Commands of operators on a real cluster: status, forget, handover, and the check of etcd."""

from collections.abc import Iterator
from pathlib import Path

import orjson
import pytest

from etcd_gateway import EtcdGateway
from foreseal.cli.main import run
from foreseal.cluster.local_cluster import LocalCluster
from foreseal.cluster.node_process import SequencerRole
from foreseal.etcd_version import OLDEST_ETCD
from live import wait_for
from real_cluster import ask, real_cluster, roles_of
from transfer_accounts import CHAIN_ID


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalCluster]:
    """Run three members, a leader, a standby and a replica."""
    with real_cluster(tmp_path_factory.mktemp("cluster")) as live_cluster:
        yield live_cluster


def journal(cluster: LocalCluster) -> tuple[str, str]:
    return "--journal", cluster.etcd.journal_url()


def status(cluster: LocalCluster, capsys: pytest.CaptureFixture[str], code: int = 0) -> dict[str, object]:
    """Return the status as JSON."""
    capsys.readouterr()
    assert run(["cluster", "status", *journal(cluster), "--json"]) == code
    report: dict[str, object] = orjson.loads(capsys.readouterr().out)
    return report


def test_status_lists_members_owner_and_etcd(cluster: LocalCluster, capsys: pytest.CaptureFixture[str]) -> None:
    report = status(cluster, capsys)
    members = {member["name"]: member for member in report["members"]}  # type: ignore[attr-defined]
    assert set(members) == {"leader", "standby-1", "replica-1"}
    assert all(member["error"] is None and member["latencyMs"] > 0 for member in members.values())
    assert members["replica-1"]["role"] == "replica"
    chain = report["chain"]
    assert isinstance(chain, dict)
    assert chain["chainId"] == CHAIN_ID
    assert chain["owner"]["name"] in ("leader", "standby-1")
    engine = report["engine"]
    assert isinstance(engine, dict)
    assert sorted(each["leader"] for each in engine["endpoints"]) == [False, False, True]
    assert run(["cluster", "status", *journal(cluster)]) == 0
    text = capsys.readouterr().out
    assert "last takeover" in text
    assert "replica-1" in text


def test_status_names_a_chain_that_does_not_exist(cluster: LocalCluster, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["cluster", "status", *journal(cluster), "--chain", "5"]) == 2
    assert f"has no chain with id 5 below /foreseal, but: {CHAIN_ID}" in capsys.readouterr().err
    url = cluster.etcd.journal_url("other")
    assert run(["cluster", "status", "--journal", url]) == 2
    assert "no chain has keys below /other" in capsys.readouterr().err


def test_status_of_several_chains_lists_them(cluster: LocalCluster, capsys: pytest.CaptureFixture[str]) -> None:
    gateway = EtcdGateway(cluster.etcd.endpoints[0])
    for byte in ("11", "22"):
        gateway.put(f"/several/7-0x{byte * 32}/head".encode(), b"{}")
    assert run(["cluster", "status", "--journal", cluster.etcd.journal_url("several")]) == 2
    assert f"7 (0x{'11' * 32}), 7 (0x{'22' * 32}); name one with --chain or --genesis" in capsys.readouterr().err


def test_status_without_etcd_fails(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["cluster", "status", "--journal", "etcd://127.0.0.1:9/x"]) == 1
    assert "etcd has no majority" in capsys.readouterr().err


def test_forgotten_member_has_no_entry(cluster: LocalCluster, capsys: pytest.CaptureFixture[str]) -> None:
    prefix = next(
        entry.key.decode().rpartition("/")[0]
        for entry in EtcdGateway(cluster.etcd.endpoints[0]).range(b"/foreseal/")
        if b"/members/leader" in entry.key
    )
    entry = {"run_id": "0" * 32, "name": "gone", "role": "standby", "feed": "", "rpc": "", "version": "1"}
    EtcdGateway(cluster.etcd.endpoints[0]).put(
        f"{prefix}/gone".encode(), orjson.dumps({**entry, "next": 1, "updated": 1})
    )
    members = status(cluster, capsys)["members"]
    assert isinstance(members, list)
    assert [member["isStale"] for member in members if member["name"] == "gone"] == [True]
    assert run(["cluster", "forget", "gone", *journal(cluster)]) == 0
    assert run(["cluster", "forget", "gone", *journal(cluster)]) == 1
    assert "has no member gone" in capsys.readouterr().err


def test_journal_check_measures_etcd(cluster: LocalCluster, capsys: pytest.CaptureFixture[str]) -> None:
    url = cluster.etcd.journal_url()
    is_old = cluster.etcd.version < OLDEST_ETCD
    assert run(["journal", "check", url]) == int(is_old)
    text = capsys.readouterr().out
    assert "100 appends of 17 KB" in text
    assert "--snapshot-count=500" in text
    assert run(["journal", "check", url, "--force", "--json"]) == 0
    report = orjson.loads(capsys.readouterr().out)
    assert len(report["members"]) == 3
    assert [finding["code"] for finding in report["findings"]] == ["version"] * (3 * is_old)


def test_handover_makes_the_standby_the_leader(cluster: LocalCluster, capsys: pytest.CaptureFixture[str]) -> None:
    leader, standby = roles_of(cluster)
    wait_for(lambda: ask(leader, "foreseal_status")["cluster"]["followers"], 20, "followers")
    assert isinstance(leader.role, SequencerRole)
    admin = f"http://127.0.0.1:{leader.role.admin}"
    assert run(["handover", "--rpc", admin]) == 0
    text = capsys.readouterr().out
    assert f"handed over to {standby.name}" in text
    assert f"{standby.name} writes the chain in epoch" in text
    assert ask(standby, "foreseal_status")["cluster"]["role"] == "leader"
    assert run(["handover", "--rpc", admin]) == 2
    assert "is not the leader but standby" in capsys.readouterr().err


def test_handover_through_a_public_listener_is_rejected(
    cluster: LocalCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    leader, _ = roles_of(cluster)
    assert run(["handover", "--rpc", leader.url]) == 1
    assert "foreseal_handover failed" in capsys.readouterr().err


def test_killed_leader_without_standby_is_a_fault(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with real_cluster(tmp_path, members=1, standbys=0, replicas=0) as alone:
        assert status(alone, capsys)["faults"] == []
        alone.sequencers[0].kill()
        report = status(alone, capsys, code=1)
    faults = report["faults"]
    assert isinstance(faults, list)
    assert "leader has not written" in faults[0]
    (member,) = report["members"]  # type: ignore[misc]
    assert "does not answer" in member["error"]
