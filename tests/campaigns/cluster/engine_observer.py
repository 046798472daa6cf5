"""Records every change of `owner` and `head` in the engine, by a watch at each member."""

import contextlib
import threading
import time
from collections.abc import Sequence

import orjson

from cluster.recording import EngineHead, EngineOwner, Recording
from etcd_gateway import EtcdEntry, EtcdGateway, EtcdGatewayError

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
        self._revision = 0
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
        passed = 0
        while not self._stopped.is_set():
            try:
                with contextlib.closing(gateway.watch(self._prefix, max(self._revision, passed) + 1)) as changes:
                    for entry in changes:
                        self._record(entry, time.monotonic())
                        if self._stopped.is_set():
                            return
            except EtcdGatewayError as error:
                if "compacted" in str(error):
                    passed = self._pass_compaction(gateway) or passed
                self._stopped.wait(_RETRY)

    def _pass_compaction(self, gateway: EtcdGateway) -> int | None:
        """Record the present values, and return a revision up to which they are complete; None without an answer.

        Revisions of other keys may have been compacted. An append that was missed breaks the sequence of heads.
        """
        try:
            revision = int(gateway.status()["header"]["revision"])
            keys = [entry.key for entry in gateway.range(self._prefix, keys_only=True)]
            values = [
                entry
                for key in keys
                if key.endswith((b"/owner", b"/head"))
                for entry in gateway.range(key)
                if entry.key == key
            ]
        except EtcdGatewayError:
            return None
        for entry in sorted(values, key=lambda each: each.revision):
            self._record(entry, time.monotonic())
        return revision

    def _record(self, entry: EtcdEntry, at: float) -> None:
        """Record a change that no other watch delivered before. Each watch delivers in the order of revisions."""
        name = entry.key.rpartition(b"/")[2]
        if entry.value is None or name not in (b"owner", b"head"):
            return
        with self._lock:
            recorded = {
                each.revision for each in (self._recording.owners if name == b"owner" else self._recording.heads)[-64:]
            }
            if entry.revision < self._revision or entry.revision in recorded:
                return
            try:
                if name == b"owner":
                    self._recording.owners.append(read_owner(entry, at))
                else:
                    self._recording.heads.append(read_head(entry, at))
            except (ValueError, KeyError, TypeError) as error:
                self._recording.problems.append(f"{entry.key!r} at revision {entry.revision}: {error!r}")
            self._revision = entry.revision


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
