"""Members of a cluster: their entries in the engine and what each process reports itself."""

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from foreseal.cluster.peer_values import peer_integer, peer_list, peer_object, peer_quantity, peer_text
from foreseal.cluster.rpc_endpoint import RpcAnswer
from foreseal.cluster.status_queries import Connect, query_statuses

STALE_AFTER = 3 * 3600
"""Seconds after which the entry of a member that does not answer is stale: nothing will update it."""
MAX_MEMBERS = 256
MAX_ROUNDS = 8
"""Levels of the tree of followers that are queried."""
ROUND_TIMEOUT = 10.0
"""Time limit in seconds for the queries of one level."""

_ROLES = ("leader", "standby", "replica")
_TAKEOVER_NUMBERS = ("epoch", "at", "fenceMs", "readyMs")


@dataclass(frozen=True, slots=True)
class ClusterMember:
    """A process of the cluster. Fields of one that does not answer come from its entry or from its upstream."""

    name: str
    role: str
    rpc: str
    feed: str | None = None
    version: str | None = None
    epoch: int | None = None
    block: int | None = None
    index: int | None = None
    sequence: int | None = None
    """Newest append according to its entry, up to some seconds old."""
    lag: int | None = None
    """Appends that it lacks."""
    age_ms: int | None = None
    """Time since its newest tick."""
    latency_ms: float | None = None
    """Duration of the call to its RPC server."""
    last_takeover: Mapping[str, Any] | None = None
    """The last takeover by this process."""
    error: str | None = None
    """Reason why it did not answer."""
    is_stale: bool = False

    def to_json(self) -> dict[str, Any]:
        """Return the member as a JSON object."""
        return {_camel_case(each.name): getattr(self, each.name) for each in fields(self)}


def gather_members(entries: Iterable[Mapping[str, Any]], connect: Connect, now: float) -> list[ClusterMember]:
    """Query the members with an entry, and the followers that they report, and theirs.

    `now` is the Unix time in seconds, for the age of entries.
    """
    seen: set[tuple[str, str]] = set()
    members: list[ClusterMember] = []
    pending: Sequence[Mapping[str, Any]] = _unseen(map(_entry, entries), seen)
    for _ in range(MAX_ROUNDS):
        if not pending:
            break
        answers = query_statuses([entry["rpc"] for entry in pending], connect, ROUND_TIMEOUT)
        members += [_describe(entry, answer, now) for entry, answer in zip(pending, answers, strict=True)]
        pending = _unseen((follower for answer in answers for follower in _followers(answer)), seen)
    return members


def newest_takeover(members: Iterable[ClusterMember]) -> tuple[str, Mapping[str, Any]] | None:
    """Return the takeover with the highest epoch and the name of its process."""
    takeovers = [(member.name, member.last_takeover) for member in members if member.last_takeover is not None]
    return max(takeovers, key=lambda each: each[1]["epoch"], default=None)


def wait_since(begun: float, seconds: float) -> None:
    """Sleep until `seconds` have passed since the monotonic time `begun`."""
    time.sleep(max(0.0, begun + seconds - time.monotonic()))


def reported_followers(cluster: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the followers in the cluster status of a process: name, role, RPC address, version and lag.

    A follower without a name is left out, and workers, which serve at the address of their node.
    """
    followers = [
        {
            "name": peer_text(each.get("name")),
            "role": peer_text(each.get("role")),
            "rpc": peer_text(each.get("rpc")),
            "version": peer_text(each.get("version")) or None,
            "lag": peer_integer(each.get("lag")),
        }
        for each in map(peer_object, peer_list(cluster.get("followers")))
    ]
    return [each for each in followers if each["name"] and each["role"] in _ROLES]


def _entry(entry: Mapping[str, Any]) -> dict[str, Any]:
    return {**entry, "name": entry["name"] or entry.get("key", "")}


def _unseen(entries: Iterable[Mapping[str, Any]], seen: set[tuple[str, str]]) -> list[Mapping[str, Any]]:
    """Return the entries of processes that are not in `seen`, and add these, up to the largest number of members."""
    unseen = []
    for entry in entries:
        process = (entry["name"], entry["rpc"])
        if process not in seen and len(seen) < MAX_MEMBERS:
            seen.add(process)
            unseen.append(entry)
    return unseen


def _followers(answer: RpcAnswer | str) -> list[dict[str, Any]]:
    return [] if isinstance(answer, str) else reported_followers(peer_object(answer.result.get("cluster")))


def _describe(entry: Mapping[str, Any], answer: RpcAnswer | str, now: float) -> ClusterMember:
    following = entry.get("next")
    sequence = None if not following else following - 1
    feed, version = entry.get("feed"), entry.get("version")
    if isinstance(answer, str):
        updated = entry.get("updatedMs")
        return ClusterMember(
            name=entry["name"],
            role=entry["role"],
            rpc=entry["rpc"],
            feed=feed,
            version=version,
            sequence=sequence,
            lag=entry.get("lag"),
            error=peer_text(answer),
            is_stale=updated is not None and now - updated / 1000 > STALE_AFTER,
        )
    status = answer.result
    cluster = peer_object(status.get("cluster"))
    return ClusterMember(
        name=entry["name"],
        role=peer_text(cluster.get("role")) or entry["role"],
        rpc=entry["rpc"],
        feed=feed,
        version=version,
        epoch=peer_integer(cluster.get("epoch")),
        block=peer_quantity(status.get("block")),
        index=peer_quantity(status.get("index")),
        sequence=sequence,
        lag=peer_integer(status.get("lag")),
        age_ms=peer_integer(status.get("age")),
        latency_ms=answer.seconds * 1000,
        last_takeover=_takeover(peer_object(cluster.get("lastTakeover"))),
    )


def _takeover(takeover: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return a takeover with all its fields; None if one of them is absent or not of its type."""
    numbers = {name: peer_integer(takeover.get(name)) for name in _TAKEOVER_NUMBERS}
    if None in numbers.values():
        return None
    return {"reason": peer_text(takeover.get("reason")), **numbers}


def _camel_case(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(map(str.capitalize, others))
