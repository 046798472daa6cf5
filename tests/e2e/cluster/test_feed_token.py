"""Members with a wrong feed token: their health endpoints report it."""

from dataclasses import replace
from functools import partial
from pathlib import Path

from foreseal.cluster.node_process import NodeProcess, SequencerRole
from live import wait_for
from live.process import status_and_body
from real_cluster import real_cluster, roles_of

REASON = b"no valid token and no client certificate"


def restart_with(node: NodeProcess, token: Path) -> None:
    """Restart a member with another token; a sequencer becomes a standby."""
    node.stop()
    if isinstance(node.role, SequencerRole):
        node.set_role(replace(node.role, standby=True))
    node.command = (*node.command, "--feed-token-file", str(token))
    node.start()


def test_members_with_a_wrong_token_are_not_healthy(tmp_path: Path) -> None:
    with real_cluster(tmp_path / "cluster", members=1) as cluster:
        leader, standby = roles_of(cluster)
        followers = [standby, *cluster.replicas]
        wait_for(lambda: all(node.is_ready() for node in followers), 60, "readiness")
        token = tmp_path / "other.token"
        token.write_text("f" * 64)
        token.chmod(0o600)
        for node in followers:
            restart_with(node, token)
        for node in followers:
            # The standby stays up to date from etcd; the replica may follow the standby, which has the same token.
            for path in ("/healthz", "/readyz"):
                wait_for(partial(_names_the_reason, node.url + path), 60, f"{path} of {node.name}")
        assert leader.is_ready()


def _names_the_reason(url: str) -> bool:
    """Return True if the response is 503 with the reason."""
    status, body = status_and_body(url)
    return status == 503 and REASON in body
