"""Leader and standby of the double: append, fence and election on a real etcd."""

import json
import random
import secrets
import time
from dataclasses import dataclass

from cluster_double.chain import DoubleChain, Message
from etcd_gateway import EtcdEntry, EtcdGateway, EtcdGatewayError
from foreseal.codec import keccak

_STEP, _TICK, _SILENCE, _GAP = 0.2, 0.1, 0.8, 0.4
_ATTEMPT = 0.4


@dataclass(frozen=True)
class _Seen:
    """Revisions of owner, beat and head, and the values of owner and head."""

    revisions: tuple[int, int, int]
    owner: Message | None
    head: Message | None


class DoubleSequencer:
    """Runs until the process ends: waits as a standby, then leads until it is fenced."""

    def __init__(self, chain: DoubleChain, journal: str, name: str, rpc: str, skip: frozenset[str]) -> None:
        """`skip` names comparisons that are left out: `owner`, `head`."""
        endpoints, _, prefix = journal.removeprefix("etcd://").partition("/")
        self._gateways = [EtcdGateway(endpoint, _ATTEMPT) for endpoint in endpoints.split(",")]
        self._prefix = f"/{prefix}/31337-double/".encode()
        self._chain = chain
        self._name = name
        self._rpc = rpc
        self._skip = skip
        self.is_leader = False
        self.owner_rpc: str | None = None
        self._last = random.randrange(len(self._gateways))

    def run(self, *, standby: bool) -> None:
        """Lead and follow in turn."""
        while True:
            won = self._wait_for_silence(0.0 if not standby else _SILENCE)
            if won is not None:
                self._lead(*won)
            self.is_leader = False
            standby = True

    def _wait_for_silence(self, silence: float) -> tuple[Message, int] | None:
        """Follow until owner, beat and head are silent, then become the owner; return it and its revision."""
        before: _Seen | None = None
        since = answered = time.monotonic()
        while True:
            try:
                seen = self._observe()
                # The view of an older owner never has a step of a newer one.
                if seen.owner is not None:
                    self._chain.epoch, self.owner_rpc = seen.owner["epoch"], seen.owner["rpc"]
                self._catch_up()
            except EtcdGatewayError:
                time.sleep(_TICK)
                continue
            now = time.monotonic()
            if before is None or before.revisions != seen.revisions or now - answered > _GAP:
                since = now
            if before is not None and before.revisions != seen.revisions:
                self._chain.changed = now
            before, answered = seen, now
            if now - since >= silence:
                return self._acquire(seen)
            time.sleep(_TICK)

    def _acquire(self, seen: _Seen) -> tuple[Message, int] | None:
        epoch = seen.owner["epoch"] + 1 if seen.owner else 1
        owner = {"run_id": secrets.token_hex(16), "epoch": epoch, "name": self._name, "rpc": self._rpc}
        comparisons = list(zip((self._key("owner"), self._key("beat"), self._key("head")), seen.revisions, strict=True))
        try:
            won, revision = self._gateway().transaction(comparisons, [(self._key("owner"), json.dumps(owner).encode())])
        except EtcdGatewayError:
            self._last += 1
            return None
        return (owner, revision) if won else None

    def _lead(self, owner: Message, owner_revision: int) -> None:
        """Produce steps until another process is the owner."""
        self.owner_rpc, self._chain.epoch = self._rpc, owner["epoch"]
        head_revision = -1
        while head_revision < 0:
            try:
                head_revision = self._observe().revisions[2]
                self._catch_up()
            except EtcdGatewayError:
                time.sleep(_TICK)
        self.is_leader = True
        while True:
            begun = time.monotonic()
            step = self._chain.draft()
            revision = self._append(owner, (owner_revision, head_revision), step)
            if revision is None:
                return
            head_revision = revision
            self._chain.add(step)
            time.sleep(max(0.0, begun + _STEP - time.monotonic()))

    def _append(self, owner: Message, revisions: tuple[int, int], step: Message) -> int | None:
        """Append a step, and return the revision of the head; None if another process is the owner."""
        sequence = len(self._chain.steps)
        record = json.dumps(step).encode()
        head = {
            "epoch": owner["epoch"],
            "sequence": sequence,
            "hash": keccak(record).hex(),
            "block": int(step["number"], 16),
            "index": int(step["index"], 16),
        }
        puts = [(self._key(f"s/{sequence:016x}/0"), record), (self._key("head"), json.dumps(head).encode())]
        comparisons = [
            (self._key(name), revision)
            for name, revision in zip(("owner", "head"), revisions, strict=True)
            if name not in self._skip
        ]
        while True:
            try:
                done, revision = self._gateway().transaction(comparisons, puts)
                if done:
                    return revision
                seen = self._observe()
            except EtcdGatewayError:
                self._last += 1
                time.sleep(0.02)
                continue
            if seen.head == head and seen.revisions[0] == revisions[0]:
                return seen.revisions[2]
            return None

    def _observe(self) -> _Seen:
        by_name: dict[str, EtcdEntry] = {}
        try:
            entries = [entry for name in ("beat", "head", "owner") for entry in self._gateway().range(self._key(name))]
        except EtcdGatewayError:
            self._last += 1
            raise
        for entry in entries:
            by_name[entry.key.rpartition(b"/")[2].decode()] = entry
        owner, head = (
            json.loads(by_name[name].value or b"null") if name in by_name else None for name in ("owner", "head")
        )
        revisions = tuple(by_name[name].revision if name in by_name else 0 for name in ("owner", "beat", "head"))
        return _Seen(revisions, owner, head)  # type: ignore[arg-type]

    def _catch_up(self) -> None:
        """Add the steps of the engine that the chain lacks."""
        while True:
            entries = self._gateway().range(self._key(f"s/{len(self._chain.steps):016x}/"))
            if not entries:
                return
            self._chain.add(json.loads(entries[0].value or b""))

    def _gateway(self) -> EtcdGateway:
        return self._gateways[self._last % len(self._gateways)]

    def _key(self, name: str) -> bytes:
        return self._prefix + name.encode()
