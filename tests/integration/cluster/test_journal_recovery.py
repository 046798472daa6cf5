"""The whole engine is lost: another one is filled from a journal, and the nodes continue the same block."""

from pathlib import Path

import pytest

from etcd_programs import etcd_program
from foreseal.cli.main import run
from foreseal.cluster.etcd import EtcdCluster, MemberPorts
from foreseal.cluster.node_process import SequencerRole
from live import wait_for
from real_cluster import ask, newest_step, real_cluster, transfer


@pytest.mark.parametrize("form", ["datadir", "file"])
def test_imported_journal_continues_without_a_lost_step(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], form: str
) -> None:
    with real_cluster(tmp_path / "a", members=1, replicas=0) as cluster:
        leader, standby = cluster.sequencers
        hashes = [transfer(leader, nonce) for nonce in range(3)]
        wait_for(lambda: standby.call("eth_getTransactionReceipt", hashes[2]), 20, "standby")
        receipt = ask(leader, "eth_getTransactionReceipt", hashes[2])
        # Both end at once, as with a loss of power: a clean stop of the leader would hand over.
        standby.kill()
        leader.kill()
        cluster.etcd.stop()
        datadir = leader.datadir

        engine = EtcdCluster(tmp_path / "b", etcd_program(), [MemberPorts()])
        engine.start()
        try:
            source = datadir
            if form == "file":
                source = tmp_path / "export"
                assert run(["journal", "export", str(datadir), str(source)]) == 0
                assert run(["journal", "export", str(datadir), str(source)]) == 1
            url = engine.journal_url()
            capsys.readouterr()
            assert run(["journal", "import", str(source), "--journal", url, "--yes"]) == 0
            assert "imported" in capsys.readouterr().out
            assert run(["journal", "import", str(source), "--journal", url, "--yes"]) == 1
            assert "nothing to import" in capsys.readouterr().err
            for node, is_standby in ((leader, False), (standby, True)):
                role = node.role
                assert isinstance(role, SequencerRole)
                node.set_role(SequencerRole(url, is_standby, role.feed, force_journal=True))
                node.start()
            for node in (leader, standby):
                wait_for(node.is_ready, 60, "restart")
                receipts = [ask(node, "eth_getTransactionReceipt", each) for each in hashes]
                assert all(receipts)
                assert receipts[2]["blockHash"] is not None
                assert receipts[2]["blockNumber"] == receipt["blockNumber"]
            wait_for(lambda: leader.cluster_status().get("role") == "leader", 30, "owner")
            transfer(leader, 3)
            assert ask(leader, "foreseal_status")["cluster"]["epoch"] == 1
            wait_for(lambda: newest_step(standby)[0] == newest_step(leader)[0], 20, "same block")
        finally:
            for node in (standby, leader):
                node.stop()
            engine.stop()


def test_journal_of_a_running_node_is_not_imported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with real_cluster(tmp_path, members=1, standbys=0, replicas=0) as cluster:
        source = str(cluster.sequencers[0].datadir)
        assert run(["journal", "import", source, "--journal", cluster.etcd.journal_url(), "--yes"]) == 2
    assert "foreseal" in capsys.readouterr().err


def test_single_etcd_is_rejected_unless_forced(tmp_path: Path) -> None:
    with real_cluster(tmp_path, members=1, standbys=0, replicas=0) as cluster:
        node = cluster.sequencers[0]
        node.stop()
        role = node.role
        assert isinstance(role, SequencerRole)
        node.set_role(SequencerRole(role.journal, False, role.feed))
        node.start()
        wait_for(lambda: not node.is_running, 30, "end of the node")
        assert node.exit_code == 2
        assert "--journal-force" in node.log_tail()
        # An engine that does not answer is no reason to end.
        cluster.etcd.stop()
        node.start()
        wait_for(lambda: node.call("foreseal_status"), 30, "status")
        assert node.is_running
