"""Members of a cluster are gathered from their entries, from each process and from its followers."""

import threading
from typing import Any

import orjson
import pytest

from foreseal.cluster import members
from foreseal.cluster.members import (
    MAX_MEMBERS,
    MAX_ROUNDS,
    STALE_AFTER,
    gather_members,
    newest_takeover,
    reported_followers,
)
from foreseal.cluster.rpc_endpoint import RpcAnswer, RpcEndpoint
from foreseal.errors import NodeError

NOW = 1_700_000_000.0
TAKEOVER = {"reason": "no_writes", "at": 1_700_000_000_000, "fenceMs": 1, "readyMs": 2}


class Answers:
    """Endpoints by URL; those without a status do not answer."""

    def __init__(self, **statuses: Any) -> None:
        self.statuses = statuses
        self.url = ""

    def __call__(self, url: str) -> Any:
        node = Answers(**self.statuses)
        node.url = url
        return node

    def call(self, method: str) -> RpcAnswer:
        assert method == "foreseal_status"
        if self.url not in self.statuses:
            raise NodeError("io", f"{self.url} does not answer: timeout")
        return RpcAnswer(self.statuses[self.url], 0.0015)


def entry(name: str, *, role: str = "standby", updated: float = NOW, rpc: str | None = None) -> dict[str, Any]:
    fields = {"key": name, "name": name, "role": role, "rpc": name if rpc is None else rpc, "version": "1.0"}
    return {**fields, "feed": f"tcp://{name}", "next": 8, "updatedMs": int(updated * 1000)}


def status(role: str, *followers: str, takeover: dict[str, Any] | None = None) -> dict[str, Any]:
    rows = [{"name": each, "role": "replica", "rpc": each, "version": "1.0", "lag": 0} for each in followers]
    cluster: dict[str, Any] = {"role": role, "epoch": 3, "followers": rows}
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


def test_members_with_one_address_are_all_found() -> None:
    entries = [entry("a", rpc=""), entry("b", rpc=""), entry("b", rpc=""), entry("b", rpc="b")]
    assert [(each.name, each.rpc) for each in gather_members(entries, Answers(), NOW)] == [
        ("a", ""),
        ("b", ""),
        ("b", "b"),
    ]


def test_number_of_queried_followers_is_bounded() -> None:
    wide = Answers(a=status("leader", *map(str, range(1000))))
    assert len(gather_members([entry("a")], wide, NOW)) == MAX_MEMBERS
    deep = Answers(**{str(level): status("replica", str(level + 1)) for level in range(100)})
    assert len(gather_members([entry("0")], deep, NOW)) == MAX_ROUNDS


def test_member_that_answers_slowly_does_not_delay_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(members, "ROUND_TIMEOUT", 0.2)
    released = threading.Event()

    class SlowEndpoint(Answers):
        def __call__(self, url: str) -> Any:
            if url == "slow":
                released.wait(60)
            return super().__call__(url)

    try:
        slow, fast = gather_members([entry("slow"), entry("a")], SlowEndpoint(a=status("leader")), NOW)
    finally:
        released.set()
    assert slow.error == "slow has not answered for 0 s"
    assert fast.role == "leader"


MALFORMED = [
    None,
    [],
    "x",
    {},
    {"block": 1, "index": "zz", "lag": "1", "age": -1, "cluster": []},
    {"block": "0x" + "f" * 5000, "lag": 2**64, "cluster": {"role": 1, "epoch": "3", "followers": {"a": 1}}},
    {"cluster": {"followers": [1, None, {}, {"name": 1}, {"name": "b"}, {"name": "b", "role": "x", "rpc": "b"}]}},
    {"cluster": {"role": "\ud800", "lastTakeover": {"epoch": 1}, "followers": None}},
    {"cluster": {"lastTakeover": {**TAKEOVER, "epoch": 1.5}}},
]


@pytest.mark.parametrize("answer", MALFORMED, ids=range(len(MALFORMED)))
def test_malformed_status_is_tolerated(answer: Any) -> None:
    gathered = gather_members([entry("a"), entry("b")], Answers(a=answer, b=status("leader")), NOW)
    assert [member.name for member in gathered] == ["a", "b"]
    assert newest_takeover(gathered) is None
    orjson.dumps([member.to_json() for member in gathered])


def test_follower_with_a_partial_entry_is_found() -> None:
    followers = [{"name": "b", "role": "replica"}, {"name": "w", "role": "worker", "rpc": "b"}]
    assert reported_followers({"followers": followers}) == [
        {"name": "b", "role": "replica", "rpc": "", "version": None, "lag": None}
    ]


@pytest.mark.parametrize(("age", "is_stale"), [(0, False), (STALE_AFTER - 1, False), (STALE_AFTER + 1, True)])
def test_member_that_does_not_answer_becomes_stale(age: float, is_stale: bool) -> None:
    (member,) = gather_members([entry("a", updated=NOW - age)], Answers(), NOW)
    assert member.error == "a does not answer: timeout"
    assert member.is_stale is is_stale


def test_takeover_with_the_highest_epoch_is_the_newest() -> None:
    early, late = ({**TAKEOVER, "epoch": epoch} for epoch in (2, 5))
    answers = Answers(a=status("standby", takeover=early), b=status("leader", takeover=late), c=status("replica"))
    members = gather_members([entry("a"), entry("b"), entry("c")], answers, NOW)
    assert newest_takeover(members) == ("b", late)
    assert newest_takeover([]) is None


def test_json_of_a_member_has_the_case_of_the_public_methods() -> None:
    (member,) = gather_members([entry("a")], Answers(a=status("leader", takeover={**TAKEOVER, "epoch": 2})), NOW)
    assert member.to_json() == {
        "name": "a",
        "role": "leader",
        "rpc": "a",
        "feed": "tcp://a",
        "version": "1.0",
        "epoch": 3,
        "block": 16,
        "index": 2,
        "sequence": 7,
        "lag": 1,
        "ageMs": 30,
        "latencyMs": 1.5,
        "lastTakeover": {**TAKEOVER, "epoch": 2},
        "error": None,
        "isStale": False,
    }


@pytest.mark.parametrize("url", ["", "unix:", "ftp://a", "http://", "http://a:port"])
def test_invalid_endpoint_is_rejected(url: str) -> None:
    with pytest.raises(ValueError, match=r"expected|Port"):
        RpcEndpoint(url)


@pytest.mark.parametrize("url", ["", "unix:/run/admin.sock", "file:///etc/passwd", "http://", "http://[", "//a"])
def test_address_of_a_peer_is_a_url_of_a_server(url: str) -> None:
    with pytest.raises(ValueError, match=r"expected|Invalid IPv6"):
        RpcEndpoint.peer(url)
    (member,) = gather_members([entry("a", rpc=url)], RpcEndpoint.peer, NOW)
    assert member.error == f"{url or 'it'} has no usable RPC address"


def test_host_name_that_cannot_be_resolved_is_an_error() -> None:
    with pytest.raises(NodeError, match="does not answer"):
        RpcEndpoint.peer(f"http://{'a' * 70}.example").call("foreseal_status")
