"""Background worker: all processing that no request triggers.

```text
woken by a flashblock of the node, or by the poll interval
  |
  v
beat       active processes, and this process's share
watch      transfers, including pre-confirmed ones            the first process; others occasionally
expire     orders whose validBefore is final
receipts   one batch for all transactions that may have been included since the last pass
advance    orders, refunds, payouts of this process's share   in a few threads, so a slow one delays no other
```

`stop` ends a pass between two ranges of blocks, reads or subjects. The rows have everything that is still to be done,
and the next start continues there.
"""

import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass, field
from functools import partial

from sqlalchemy import select
from sqlalchemy.exc import SQLAlchemyError

from foreseal.payments.api.backend import Backend
from foreseal.payments.chain import CachedHeads, ChainError, ChainNode, ChainReceipt, FinalityBroken, node_requests
from foreseal.payments.destinations.destination import Destination
from foreseal.payments.ledger import ConcurrentUpdate, LedgerError
from foreseal.payments.ledger.models import AttemptRecord, Purpose, TransactionRecord
from foreseal.payments.ledger.queries import chunks
from foreseal.payments.orders.reconciler import NotExpired
from foreseal.payments.stop_signal import StopSignal, WorkStopped
from foreseal.payments.task_progress import TaskProgress
from foreseal.payments.transactions import SendingError
from foreseal.payments.transfers.watcher import TransferWatcher
from foreseal.payments.workers.process_registry import ProcessRegistry, WorkShare
from foreseal.payments.workers.scheduler import Scheduler
from foreseal.payments.workers.work_kinds import WORK_KINDS, RowStatus, Subject, WorkKind

log = logging.getLogger(__name__)

# Expected errors of a pass: they are logged, and the next pass retries.
_EXPECTED = (ChainError, LedgerError, SendingError, SQLAlchemyError)
# Maximum subjects per pass; the others are due in the next pass.
_MAX_SUBJECTS = 1_000
# Seconds between progress log lines while catching up.
_LOG_INTERVAL = 2.0


@dataclass(frozen=True, slots=True)
class WatchProgress:
    """Progress of a watcher."""

    read: int
    """Block up to which transfers are read."""
    latest: int

    @property
    def behind(self) -> int:
        """Blocks in which transfers are not read yet."""
        return max(self.latest - self.read, 0)


@dataclass(slots=True)
class WorkerState:
    """Progress of the worker, for the health check."""

    progress: dict[str, WatchProgress | None] = field(default_factory=dict)
    """Progress of each watcher by destination; None before its first read."""
    set_aside: dict[str, int] = field(default_factory=dict)
    """Transactions and blocks whose transfers could not be read, by destination."""
    ignored: dict[str, int] = field(default_factory=dict)
    """Transfers below the minimum that this process has read, by destination."""
    started: float = 0.0
    """Unix time in seconds at which the process started."""
    passed: float | None = None
    """Unix time in seconds of the last complete pass."""
    errors: int = 0
    """Consecutive failed passes."""
    passes: int = 0
    """Complete passes."""
    failed_passes: int = 0
    share: WorkShare = field(default_factory=lambda: WorkShare(0, 1))
    clock: Callable[[], float] = time.monotonic
    """Monotonic time in seconds."""
    watched: dict[str, TaskProgress] = field(init=False)
    """Last successful read of transfers, by destination; a range of blocks counts while a watcher catches up."""
    running: dict[Subject, float] = field(default_factory=dict)
    """Begin of each advance in progress."""
    stepped: TaskProgress = field(init=False)
    """Last step of a pass, successful or not."""

    def __post_init__(self) -> None:
        self.watched = {name: TaskProgress(self.clock) for name in self.progress}
        self.stepped = TaskProgress(self.clock)

    @property
    def step_age(self) -> float:
        """Seconds since the last step of a pass, or since the begin of the oldest advance in progress.

        It grows if a thread hangs in one call or has ended, and not while a long pass makes progress.
        """
        now = self.clock()
        return max(self.stepped.age, *(now - began for began in list(self.running.values())), 0.0)

    @property
    def read(self) -> int | None:
        """Block up to which the transfers to all destinations are read; None before the first read of each."""
        read_blocks = [each.read for each in self.progress.values() if each is not None]
        return min(read_blocks) if read_blocks and len(read_blocks) == len(self.progress) else None

    @property
    def latest(self) -> int | None:
        """Newest block seen; None before the first."""
        return max((each.latest for each in self.progress.values() if each is not None), default=None)

    @property
    def caught_up(self) -> bool:
        """True if transfers are read up to the newest block seen."""
        return self.behind == 0

    @property
    def behind(self) -> int | None:
        """Blocks in which transfers are not read yet; None before the first read."""
        return None if self.read is None or self.latest is None else max(self.latest - self.read, 0)

    def blocks_behind(self, newest: int | None) -> dict[str, int | None]:
        """Return the blocks in which transfers are not read yet, by destination; None if they are not known.

        `newest` is the newest block of the node, None if the node is not usable. The number grows with it while reads
        of transfers fail. Processes other than the first read only occasionally, so theirs does not.
        """
        if newest is None:
            return dict.fromkeys(self.progress)
        head = newest if self.share.first else 0
        return {
            name: None if each is None else max(each.latest, head) - each.read for name, each in self.progress.items()
        }


class Worker:
    """Worker that advances everything, one `run_pass` at a time."""

    def __init__(
        self,
        backend: Backend,
        processes: ProcessRegistry,
        pool: Executor,
        captures: Executor,
        changed: Callable[[], None],
    ) -> None:
        """Set up the worker. `pool` advances orders, refunds and payouts. `changed` is called after each pass.

        `captures` attempts captures without a request, which may wait for the code of a payer's wallet.
        """
        self.state = WorkerState(
            {each.name: None for each in backend.destinations}, started=backend.clock(), clock=backend.monotonic
        )
        self._backend = backend
        self._processes = processes
        self._pool = pool
        self._captures = captures
        self._changed = changed
        self._scheduler = Scheduler()
        self._stop = StopSignal(self.state.stepped.record)
        self._watchers = [
            TransferWatcher(
                backend.ledger, backend.node, each.watcher_settings, partial(self._read, each.name), self._stop
            )
            for each in backend.destinations
        ]
        self._busy: set[Subject] = set()
        self._polled: list[tuple[Subject, RowStatus | None]] = []
        self._lock = threading.Lock()
        self._logged_at: dict[str, float] = {}
        self._watched = 0.0
        self._seen = 0.0

    def run_pass(self) -> None:
        """Run one pass. Errors are logged, and the next pass retries. A pass that was stopped counts as neither."""
        now = self._backend.clock()
        try:
            errors = [error for step in (self._beat, self._watch, self._advance) if (error := self._attempt(step, now))]
        except WorkStopped:
            return
        if errors:
            self.state.errors += 1
            self.state.failed_passes += 1
            for error in errors:
                level = logging.ERROR if isinstance(error, FinalityBroken) else logging.WARNING
                log.log(level, "pass failed", extra={"error": f"{type(error).__name__}: {error}"[:300]})
        else:
            self.state.errors = 0
            self.state.passes += 1
            self.state.passed = now
        self._changed()

    def stop(self) -> None:
        """End the current pass after its current read of the node, and the advance of the subjects after their own."""
        self._stop.request()

    def _attempt(self, step: Callable[[float], None], now: float) -> Exception | None:
        """Run a step of a pass. Return its error if it is an expected one: the other steps do not depend on it."""
        self._stop.check()
        try:
            step(now)
        except _EXPECTED as error:
            return error
        return None

    def _beat(self, now: float) -> None:
        lease = self._processes.lease
        if now - self._seen >= lease / 4:
            self.state.share = self._processes.heartbeat(now)
            self._seen = now

    def _watch(self, now: float) -> None:
        # One process is enough; the others poll once per lease in case the first is stuck.
        if not self.state.share.first and now - self._watched < self._processes.lease:
            return
        self._watched = now
        first: Exception | None = None
        for destination, watcher in zip(self._backend.destinations, self._watchers, strict=True):
            try:
                watcher.poll()
            except ConcurrentUpdate:
                log.debug("another process is the watcher")
                self.state.watched[destination.name].record()
            except _EXPECTED as error:  # one token must not stop the others
                fields = {"destination": destination.name, "error": f"{type(error).__name__}: {error}"[:300]}
                log.debug("failed to read transfers", extra=fields)
                first = first or error
            else:
                self.state.watched[destination.name].record()
            self.state.set_aside[destination.name] = watcher.set_aside
            self.state.ignored[destination.name] = watcher.ignored
        if first is not None:
            raise first

    def _read(self, destination: str, read: int, latest: int) -> None:
        """Record a watcher's progress after each range of blocks."""
        now, before, progress = self._backend.clock(), self.state.progress[destination], WatchProgress(read, latest)
        fields = {"destination": destination, "read": read}
        if progress.behind and now - self._logged_at.get(destination, 0.0) >= _LOG_INTERVAL:
            log.info("catching up with transfers", extra=fields | {"latest": latest, "behind": progress.behind})
            self._logged_at[destination] = now
        elif not progress.behind and before is not None and before.behind:
            log.info("caught up with transfers", extra=fields)
        self.state.progress[destination] = progress
        self.state.watched[destination].record()

    def _advance(self, now: float) -> None:
        heads = CachedHeads(self._backend.node)
        with self._lock:
            polled, self._polled = self._polled, []
        for subject, status in polled:
            effected = status is not None and status.is_effected
            self._scheduler.record_poll(subject, status, now, effected=effected)
        share = self.state.share
        waiting = [Subject(kind, id) for kind in WORK_KINDS for id in kind.waiting(self._backend, heads)]
        due = self._scheduler.due([subject for subject in waiting if share.has(subject.id)], now)[:_MAX_SUBJECTS]
        sent = self._scheduler.receipts_due(now)[:_MAX_SUBJECTS]
        hashes = self._hashes(due) | self._hashes(sent, without=Purpose.CAPTURE)
        self._stop.check()
        receipts = self._receipts([hash for each in hashes.values() for hash in each])
        self._stop.check()
        included = [each for each in sent if any(receipts.get(hash) is not None for hash in hashes[each.id])]
        self._submit([*due, *included], CachedHeads(self._backend.node, receipts))

    def _hashes(self, subjects: list[Subject], without: Purpose | None = None) -> dict[str, list[str]]:
        """Return the hashes of open transactions by the id of their subject, except those of one purpose."""
        hashes: dict[str, list[str]] = {id: [] for _, id in subjects}
        joined = select(TransactionRecord.subject, AttemptRecord.hash).join(
            TransactionRecord, TransactionRecord.id == AttemptRecord.transaction_id
        )
        opened = joined.where(TransactionRecord.ending.is_(None))
        if without is not None:
            opened = opened.where(TransactionRecord.purpose != without)
        with self._backend.database.reading() as tx:
            for chunk in chunks(list(hashes)):
                for subject, hash in tx.execute(opened.where(TransactionRecord.subject.in_(chunk))):
                    hashes[subject].append(hash)
        return hashes

    def _receipts(self, hashes: list[str]) -> dict[str, ChainReceipt | None]:
        """Return the receipts of transactions by hash, without those that the node failed to return."""
        answers = self._backend.node.batch([node_requests.receipt(hash) for hash in hashes])
        pairs = zip(hashes, answers, strict=True)
        return {hash: receipt for hash, receipt in pairs if not isinstance(receipt, ChainError)}

    def _submit(self, subjects: list[Subject], moment: ChainNode) -> None:
        """Submit each subject to the pool with its destination, unless it is already in progress."""
        destinations = self._find_destinations(subjects)
        views = {each.name: each.with_node(moment) for each in self._backend.destinations}
        for subject in subjects:
            destination = destinations.get(subject)
            with self._lock:
                if subject in self._busy:
                    continue
                if destination is None:
                    self._polled.append((subject, None))
                    continue
                self._busy.add(subject)
            pool = self._captures if subject.kind.calls_wallets else self._pool
            pool.submit(self._advance_subject, subject, views[destination.name])

    def _find_destinations(self, subjects: list[Subject]) -> dict[Subject, Destination]:
        """Return the destinations of subjects, without those that are not configured: no key may act for them."""
        ids: dict[WorkKind, list[str]] = {}
        for kind, id in subjects:
            ids.setdefault(kind, []).append(id)
        destinations: dict[Subject, Destination] = {}
        with self._backend.database.reading() as tx:
            lookup = self._backend.lookup(tx)
            for kind, of_kind in ids.items():
                rows = kind.find_destinations(lookup, of_kind)
                destinations |= {Subject(kind, id): destination for id, destination in rows.items()}
        return destinations

    def _advance_subject(self, subject: Subject, destination: Destination) -> None:
        """Advance one subject. Its errors do not affect the others."""
        status = None
        fields = {"kind": subject.kind.name, "subject": subject.id}
        self.state.running[subject] = self._backend.monotonic()
        try:
            self._stop.check()
            status = self._advance_row(subject, destination)
        except (NotExpired, WorkStopped):
            pass
        except _EXPECTED as error:
            message = f"{type(error).__name__}: {error}"[:300]
            log.info("failed to advance", extra=fields | {"error": message})
        except Exception:  # a defect with this subject must not stop the others
            log.exception("failed to advance", extra=fields)
        finally:
            del self.state.running[subject]
            with self._lock:
                self._busy.discard(subject)
                self._polled.append((subject, status))

    @staticmethod
    def _advance_row(subject: Subject, destination: Destination) -> RowStatus:
        """Take the next step of a row. Return its status afterwards."""
        return subject.kind.advance(destination, subject.id)
