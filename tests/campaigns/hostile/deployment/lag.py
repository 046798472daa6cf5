"""Time for which processes are behind the node under test during an attack."""

import threading
import time
from collections import deque
from collections.abc import Sequence

from hostile.deployment.peer import UNREACHABLE, NodePeer, Peer

_INTERVAL = 0.1


class LagRecorder:
    """Largest time by which each process showed a step later than the node under test."""

    def __init__(self, names: Sequence[str]) -> None:
        self.largest = dict.fromkeys(names, 0.0)
        """Seconds by name, which include the interval of polls."""
        self._missing: dict[str, deque[tuple[float, tuple[int, int]]]] = {name: deque() for name in names}
        self._lock = threading.Lock()

    def add_step(self, at: float, position: tuple[int, int]) -> None:
        """Record that the node showed this step."""
        with self._lock:
            for missing in self._missing.values():
                if not missing or missing[-1][1] < position:
                    missing.append((at, position))

    def add(self, name: str, at: float, position: tuple[int, int] | None) -> None:
        """Record the newest step of a process; None if it did not answer."""
        with self._lock:
            missing = self._missing[name]
            oldest = missing[0][0] if missing else at
            while position is not None and missing and missing[0][1] <= position:
                missing.popleft()
            self.largest[name] = round(max(self.largest[name], at - oldest), 2)


class LagSampler:
    """Polls the node under test and its followers, each in a thread, until it is stopped."""

    def __init__(self, peers: Sequence[Peer]) -> None:
        """`peers` begin with the node under test; no other thread may use them meanwhile."""
        node, *others = [peer for peer in peers if isinstance(peer, NodePeer)]
        self.recorder = LagRecorder([peer.name for peer in others])
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=self._poll_node, args=(node,), daemon=True)]
        self._threads += [threading.Thread(target=self._poll, args=(peer,), daemon=True) for peer in others]
        for thread in self._threads:
            thread.start()

    def stop(self) -> dict[str, float]:
        """Stop the threads; return the largest lag of each process in seconds."""
        self._stop.set()
        for thread in self._threads:
            thread.join()
        return self.recorder.largest

    def _poll_node(self, node: NodePeer) -> None:
        while not self._stop.wait(_INTERVAL):
            position = _position(node)
            if position is not None:
                self.recorder.add_step(time.monotonic(), position)

    def _poll(self, peer: NodePeer) -> None:
        while not self._stop.wait(_INTERVAL):
            position = _position(peer)
            self.recorder.add(peer.name, time.monotonic(), position)


def _position(peer: NodePeer) -> tuple[int, int] | None:
    try:
        return peer.newest().position
    except UNREACHABLE:
        return None
