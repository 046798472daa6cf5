"""Processes that must reach the newest step of the node under test, and the time until they do."""

import http.client
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from hostile.deployment.results import Arrival
from live.rpc import JSON_TYPE, HttpAnswer, Rpc, RpcFailure

_POLL = 0.05
_TIMEOUT = 60.0
"""Time limit of a call: an answer may be as large as a node permits."""
UNREACHABLE = (OSError, http.client.HTTPException, RpcFailure, ValueError, AssertionError)
"""Errors of a call to a process that is stopped, too slow or not yet started."""


@dataclass(frozen=True, slots=True)
class Cursor:
    """A step of the chain."""

    block: int
    index: int
    hash: str

    @classmethod
    def from_json(cls, fields: dict[str, Any]) -> "Cursor":
        """Read the cursor from a status or a page of the feed."""
        return cls(int(fields["block"], 16), int(fields["index"], 16), fields["hash"])

    @property
    def position(self) -> tuple[int, int]:
        """Block and index, by which steps are ordered."""
        return self.block, self.index

    def to_json(self) -> dict[str, str]:
        """Return the parameter of `foreseal_getFlashblocks`."""
        return {"block": hex(self.block), "index": hex(self.index), "hash": self.hash}


class Peer(ABC):
    """A process that follows the chain."""

    def __init__(self, name: str) -> None:
        self.name = name

    @abstractmethod
    def behind(self, target: Cursor) -> str:
        """Return the distance to a step, empty once it is reached. Raises an error of `UNREACHABLE`."""

    @abstractmethod
    def close(self) -> None:
        """Close its connection."""


class KeyedRpc(Rpc):
    """Calls an endpoint with an API key."""

    def __init__(self, url: str, key: str) -> None:
        super().__init__(url, _TIMEOUT)
        self._headers = JSON_TYPE | {"Authorization": f"Bearer {key}"}

    def post(self, body: bytes, headers: dict[str, str] = JSON_TYPE) -> HttpAnswer:
        """POST a body unchanged, with the key."""
        return super().post(body, headers | self._headers)


class NodePeer(Peer):
    """A process that answers JSON-RPC: the node under test, a worker, a replica or a standby."""

    def __init__(self, name: str, rpc: Rpc) -> None:
        super().__init__(name)
        self.rpc = rpc

    def newest(self) -> Cursor:
        """Return its newest step."""
        return Cursor.from_json(self.rpc("foreseal_status"))

    def behind(self, target: Cursor) -> str:
        newest = self.newest()
        if newest.position < target.position:
            return f"at step {newest.index} of block {newest.block}, not {target.index} of {target.block}"
        # A cursor whose hash is that of another step is an error.
        try:
            self.rpc("foreseal_getFlashblocks", target.to_json(), "0x1")
        except RpcFailure as failure:
            return f"it rejects step {target.index} of block {target.block}: {failure.message}"
        return ""

    def close(self) -> None:
        self.rpc.close()


def newest_of(peers: Sequence[Peer]) -> Cursor:
    """Return the newest step of any peer. Raises RuntimeError if no peer answers."""
    cursors = []
    for peer in peers:
        if isinstance(peer, NodePeer):
            try:
                cursors.append(peer.newest())
            except UNREACHABLE:
                continue
    if not cursors:
        raise RuntimeError("no process of the deployment answers")
    return max(cursors, key=lambda cursor: cursor.position)


def wait_for_peers(peers: Sequence[Peer], limit: float) -> list[Arrival]:
    """Wait until each peer has reached the step that is the newest one now, for at most `limit` seconds."""
    return wait_until(peers, newest_of(peers), limit)


def wait_until(peers: Sequence[Peer], target: Cursor, limit: float) -> list[Arrival]:
    """Wait until each peer has reached a step, for at most `limit` seconds. A peer delays no other one."""
    with ThreadPoolExecutor(len(peers)) as pool:
        return list(pool.map(lambda peer: _wait_for(peer, target, limit), peers))


def _wait_for(peer: Peer, target: Cursor, limit: float) -> Arrival:
    begin = time.monotonic()
    while True:
        behind = _distance(peer, target)
        seconds = time.monotonic() - begin
        # An answer after the limit is late, even if the step is reached.
        if seconds > limit:
            return Arrival(peer.name, None, behind or f"reached after {seconds:.1f} s")
        if not behind:
            return Arrival(peer.name, round(seconds, 2))
        time.sleep(_POLL)


def _distance(peer: Peer, target: Cursor) -> str:
    try:
        return peer.behind(target)
    except UNREACHABLE as error:
        return f"no answer: {type(error).__name__}: {error}"[:200]
