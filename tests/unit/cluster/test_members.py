"""Members of a cluster are gathered from their entries, from each process and from its followers."""

from typing import Any

import pytest

from foreseal.cluster.members import STALE_AFTER, gather_members, newest_takeover
from foreseal.cluster.rpc_endpoint import RpcAnswer, RpcEndpoint
from foreseal.errors import NodeError

NOW = 1_700_000_000.0


class Answers:
    """Endpoints by URL; those without a status do not answer."""

    def __init__(self, **statuses: dict[str, Any]) -> None:
        self.statuses = statuses
        self.url = ""

    def __call__(self, url: str) -> Any:
        found = Answers(**self.statuses)
        found.url = url
        return found

    def call(self, method: str) -> RpcAnswer:
        assert method == "foreseal_status"
        if self.url not in self.statuses:
            raise NodeError("io", f"{self.url} does not answer: timeout")
        return RpcAnswer(self.statuses[self.url], 0.0015)


def entry(name: str, *, role: str = "standby", updated: float = NOW) -> dict[str, Any]:
    fields = {"key": name, "name": name, "role": role, "rpc": name, "feed": f"tcp://{name}", "version": "1.0"}
    return {**fields, "next": 8, "updatedMs": int(updated * 1000)}


def status(role: str, *followers: str, takeover: dict[str, Any] | None = None) -> dict[str, Any]:
    found = [{"name": each, "role": "replica", "rpc": each, "version": "1.0", "lag": 0} for each in followers]
    cluster: dict[str, Any] = {"role": role, "epoch": 3, "followers": found}
    if takeover is not None:
        cluster["lastTakeover"] = takeover
    return {"block": "0x10", "index": "0x2", "lag": 1, "age": 30, "cluster": cluster}


def test_replicas_of_a_tree_are_found() -> None:
    answers = Answers(a=status("leader", "b", "c"), b=status("standby"), c=status("replica", "d"), d=status("replica"))
    members = gather_members([entry("a"), entry("b")], answers, NOW)
    assert [(member.name, member.role) for member in members] == [
        ("a", "leader"),
        ("b", "standby"),
        ("c", "replica"),
        ("d", "replica"),
    ]
    leader = members[0]
    assert (leader.block, leader.index, leader.sequence, leader.lag, leader.latency_ms) == (16, 2, 7, 1, 1.5)


def test_cycle_of_followers_ends() -> None:
    answers = Answers(a=status("replica", "b"), b=status("replica", "a"))
    assert len(gather_members([entry("a")], answers, NOW)) == 2


@pytest.mark.parametrize(("age", "is_stale"), [(0, False), (STALE_AFTER - 1, False), (STALE_AFTER + 1, True)])
def test_member_that_does_not_answer_becomes_stale(age: float, is_stale: bool) -> None:
    (member,) = gather_members([entry("a", updated=NOW - age)], Answers(), NOW)
    assert member.error == "a does not answer: timeout"
    assert member.is_stale is is_stale


def test_takeover_with_the_highest_epoch_is_the_newest() -> None:
    early, late = ({"epoch": epoch, "reason": "no_writes"} for epoch in (2, 5))
    answers = Answers(a=status("standby", takeover=early), b=status("leader", takeover=late), c=status("replica"))
    members = gather_members([entry("a"), entry("b"), entry("c")], answers, NOW)
    assert newest_takeover(members) == ("b", late)
    assert newest_takeover([]) is None


@pytest.mark.parametrize("url", ["", "unix:", "ftp://a", "http://", "http://a:port"])
def test_invalid_endpoint_is_rejected(url: str) -> None:
    with pytest.raises(ValueError, match=r"expected|Port"):
        RpcEndpoint(url)
