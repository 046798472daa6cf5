"""Records every change of `owner` and `head` in the engine, by a watch at each member."""

import contextlib
import threading
import time
from bisect import insort
from collections.abc import Sequence

import orjson

from cluster.recording import EngineHead, EngineOwner, Recording
from etcd_gateway import EtcdCompactedError, EtcdEntry, EtcdGateway, EtcdGatewayError

_RETRY = 0.05
# A member whose watch is silent this long may be cut off: watch again from the last revision.
_WATCH_TIMEOUT = 2.0


class EngineObserver:
    """Watches all members, so that the loss of one delays no observation."""

    def __init__(self, endpoints: Sequence[str], prefix: bytes, recording: Recording) -> None:
        """`prefix` is that of the journal's URL; the chain's keys are below it."""
        self._recording = recording
        self._prefix = prefix
        self._lock = threading.Lock()
        self._newest = 0
        self._recorded: set[tuple[bytes, int]] = set()
        self._stopped = threading.Event()
        self._threads = [threading.Thread(target=self._run, args=(endpoint,), daemon=True) for endpoint in endpoints]
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Stop watching."""
        self._stopped.set()
        for thread in self._threads:
            thread.join(2 * _WATCH_TIMEOUT)

    def _run(self, endpoint: str) -> None:
        gateway = EtcdGateway(endpoint, _WATCH_TIMEOUT)
        while not self._stopped.is_set():
            try:
                with contextlib.closing(gateway.watch(self._prefix, self._newest + 1)) as changes:
                    for entry in changes:
                        self._record(entry, time.monotonic())
                        if self._stopped.is_set():
                            return
            except EtcdCompactedError as error:
                if not self._record_values(gateway, error.revision):
                    self._stopped.wait(_RETRY)
            except EtcdGatewayError:
                self._stopped.wait(_RETRY)

    def _record_values(self, gateway: EtcdGateway, revision: int) -> bool:
        """Record the values as of a revision, from which the watches continue. Return False without an answer.

        An append before them that no watch delivered breaks the sequence of heads.
        """
        try:
            keys = [entry.key for entry in gateway.range(self._prefix, keys_only=True, revision=revision)]
            values = [
                entry
                for key in keys
                if key.endswith((b"/owner", b"/head"))
                for entry in gateway.range(key, revision=revision)
                if entry.key == key
            ]
        except EtcdGatewayError:
            return False
        for entry in sorted(values, key=lambda each: each.revision):
            self._record(entry, time.monotonic())
        with self._lock:
            self._newest = max(self._newest, revision)
        return True

    def _record(self, entry: EtcdEntry, at: float) -> None:
        """Record a change in the order of revisions, unless another watch delivered it before."""
        name = entry.key.rpartition(b"/")[2]
        if entry.value is None or name not in (b"owner", b"head"):
            return
        with self._lock:
            if (name, entry.revision) in self._recorded:
                return
            self._recorded.add((name, entry.revision))
            try:
                if name == b"owner":
                    insort(self._recording.owners, read_owner(entry, at), key=_revision)
                else:
                    insort(self._recording.heads, read_head(entry, at), key=_revision)
            except (ValueError, KeyError, TypeError) as error:
                self._recording.problems.append(f"{entry.key!r} at revision {entry.revision}: {error!r}")
            self._newest = max(self._newest, entry.revision)


def _revision(change: EngineOwner | EngineHead) -> int:
    return change.revision


def read_owner(entry: EtcdEntry, at: float) -> EngineOwner:
    """Return the owner in an entry. Raises ValueError and KeyError."""
    value = orjson.loads(entry.value or b"")
    return EngineOwner(at, entry.revision, value["epoch"], value["run_id"], value["name"])


def read_head(entry: EtcdEntry, at: float) -> EngineHead:
    """Return the head in an entry. Raises ValueError and KeyError."""
    value = orjson.loads(entry.value or b"")
    return EngineHead(
        at, entry.revision, value["epoch"], value["sequence"], str(value["hash"]), value["block"], value["index"]
    )
