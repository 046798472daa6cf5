"""Members of a cluster: their entries in the engine and what each process reports itself."""

import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from foreseal.cluster.rpc_endpoint import RpcAnswer, RpcEndpoint
from foreseal.errors import NodeError

STALE_AFTER = 3 * 3600
"""Seconds after which the entry of a member that does not answer is stale: nothing will update it."""
_MAX_MEMBERS = 256
_THREADS = 16

Connect = Callable[[str], RpcEndpoint]


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
    takeover: Mapping[str, Any] | None = None
    """The last takeover by this process."""
    error: str | None = None
    """Reason why it did not answer."""
    is_stale: bool = False


def gather_members(entries: Iterable[Mapping[str, Any]], connect: Connect, now: float) -> list[ClusterMember]:
    """Query the members with an entry, and the followers that they report, and theirs, all in parallel.

    `now` is the Unix time in seconds, for the age of entries.
    """
    pending = [dict(entry) for entry in entries]
    seen = {entry["rpc"] for entry in pending}
    members: list[ClusterMember] = []
    with ThreadPoolExecutor(_THREADS) as pool:
        while pending and len(members) < _MAX_MEMBERS:
            answers = list(pool.map(lambda entry: _query(entry["rpc"], connect), pending))
            found = []
            for entry, answer in zip(pending, answers, strict=True):
                members.append(_describe(entry, answer, now))
                found += [each for each in _followers(answer) if each["rpc"] not in seen]
                seen.update(each["rpc"] for each in found)
            pending = found
    return members


def newest_takeover(members: Iterable[ClusterMember]) -> tuple[str, Mapping[str, Any]] | None:
    """Return the takeover with the highest epoch and the name of its process."""
    takeovers = [(member.name, member.takeover) for member in members if member.takeover is not None]
    return max(takeovers, key=lambda each: each[1]["epoch"], default=None)


def wait_since(begun: float, seconds: float) -> None:
    """Sleep until `seconds` have passed since the monotonic time `begun`."""
    time.sleep(max(0.0, begun + seconds - time.monotonic()))


def _query(rpc: str, connect: Connect) -> RpcAnswer | str:
    """Return the status of a process, or the reason why there is none."""
    try:
        return connect(rpc).call("foreseal_status")
    except NodeError as error:
        return error.message
    except ValueError:
        return f"{rpc or 'it'} has no usable RPC address"


def _followers(answer: RpcAnswer | str) -> list[dict[str, Any]]:
    if isinstance(answer, str):
        return []
    cluster = answer.result.get("cluster") or {}
    return [
        {"name": each["name"], "role": each["role"], "rpc": each["rpc"], "version": each["version"], "lag": each["lag"]}
        for each in cluster.get("followers", ())
        # Workers serve at the address of their node.
        if each["role"] != "worker"
    ]


def _describe(entry: Mapping[str, Any], answer: RpcAnswer | str, now: float) -> ClusterMember:
    name = entry["name"] or entry.get("key", "")
    following = entry.get("next")
    sequence = None if not following else following - 1
    feed, version = entry.get("feed"), entry.get("version")
    if isinstance(answer, str):
        updated = entry.get("updatedMs")
        is_stale = updated is not None and now - updated / 1000 > STALE_AFTER
        return ClusterMember(
            name, entry["role"], entry["rpc"], feed, version, sequence=sequence, error=answer, is_stale=is_stale
        )
    status = answer.result
    cluster = status.get("cluster") or {}
    return ClusterMember(
        name=name,
        role=cluster.get("role", entry["role"]),
        rpc=entry["rpc"],
        feed=feed,
        version=version,
        epoch=cluster.get("epoch"),
        block=int(status["block"], 16) if status.get("block") else None,
        index=int(status["index"], 16) if status.get("index") else None,
        sequence=sequence,
        lag=status.get("lag"),
        age_ms=status.get("age"),
        latency_ms=answer.seconds * 1000,
        takeover=cluster.get("lastTakeover"),
    )
