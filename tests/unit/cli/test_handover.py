"""`foreseal handover` with answers of other machines that may be malformed."""

from typing import Any

import pytest

from foreseal.cli import handover
from foreseal.cli.main import run
from foreseal.cluster.rpc_endpoint import RpcAnswer
from foreseal.errors import NodeError

LEADER = "unix:/run/admin.sock"
STANDBY = "http://10.0.0.2:8545"

Statuses = dict[str, list[Any]]


@pytest.fixture
def statuses(monkeypatch: pytest.MonkeyPatch) -> Statuses:
    """Return the statuses of each process by URL, of which the last is repeated."""
    by_url: Statuses = {}

    class FakeEndpoint:
        def __init__(self, url: str, _: object = None) -> None:
            self.url = url

        @classmethod
        def peer(cls, url: str, _: object = None) -> "FakeEndpoint":
            if not url.startswith("http"):
                raise ValueError(url)
            return cls(url)

        def call(self, method: str) -> RpcAnswer:
            if method == "foreseal_handover":
                return RpcAnswer({"successor": "node-2"}, 0.001)
            answers = by_url.get(self.url)
            if not answers:
                raise NodeError("io", f"{self.url} does not answer")
            return RpcAnswer(answers.pop(0) if len(answers) > 1 else answers[0], 0.001)

    monkeypatch.setattr(handover, "RpcEndpoint", FakeEndpoint)
    monkeypatch.setattr(handover, "_TIMEOUT", 1.0)
    return by_url


def leader(rpc: Any = STANDBY, **fields: Any) -> dict[str, Any]:
    follower = {"name": "node-2", "role": "standby", "rpc": rpc}
    return {"cluster": {"role": "leader", "epoch": 1, "owner": "node-1", "followers": [follower], **fields}}


def owned(by: str) -> dict[str, Any]:
    return {"cluster": {"role": "leader", "epoch": 2, "owner": by}}


def test_new_owner_is_reported_by_itself(statuses: Statuses, capsys: pytest.CaptureFixture[str]) -> None:
    statuses.update({LEADER: [leader()], STANDBY: [owned("node-2")]})
    assert run(["handover", "--rpc", LEADER]) == 0
    assert "node-2 writes the chain in epoch 2" in capsys.readouterr().out


@pytest.mark.parametrize("rpc", [None, 7, "", "unix:/run/admin.sock", "file:///etc/passwd", "nonsense"])
def test_unusable_address_of_the_successor_is_not_called(
    statuses: Statuses, capsys: pytest.CaptureFixture[str], rpc: Any
) -> None:
    statuses[LEADER] = [leader(rpc), leader(rpc), leader(rpc, role="standby", epoch=2, owner="node-2\x1b[2J")]
    assert run(["handover", "--rpc", LEADER]) == 0
    assert "node-2?[2J writes the chain in epoch 2" in capsys.readouterr().out


@pytest.mark.parametrize("answer", [None, [], {}, {"cluster": 1}, {"cluster": {"role": "leader", "epoch": "9"}}])
def test_malformed_status_of_the_successor_is_ignored(
    statuses: Statuses, capsys: pytest.CaptureFixture[str], answer: Any
) -> None:
    statuses.update({LEADER: [leader()], STANDBY: [answer]})
    assert run(["handover", "--rpc", LEADER]) == 1
    assert "no member has taken over" in capsys.readouterr().err


def test_malformed_followers_are_ignored(statuses: Statuses) -> None:
    statuses[LEADER] = [leader(followers=[None, {"name": "node-2"}]), leader(epoch=2, owner="node-2")]
    assert run(["handover", "--rpc", LEADER]) == 0
