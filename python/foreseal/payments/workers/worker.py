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
"""

import logging
import threading
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import select
from sqlalchemy.exc import SQLAlchemyError

from foreseal.payments.api.backend import Backend
from foreseal.payments.chain import CachedHeads, ChainError, ChainNode, ChainReceipt, FinalityBroken, node_requests
from foreseal.payments.ledger import EFFECTED, ConcurrentUpdate, LedgerError, OrderState
from foreseal.payments.ledger.models import AttemptRecord, OrderRecord, Purpose, TransactionRecord
from foreseal.payments.ledger.queries import chunks
from foreseal.payments.orders.reconciler import NotExpired, OrderReconciler
from foreseal.payments.transactions import SendingError, TransactionSender
from foreseal.payments.transfers.watcher import TransferWatcher
from foreseal.payments.workers.process_registry import ProcessRegistry, WorkShare
from foreseal.payments.workers.scheduler import Scheduler

log = logging.getLogger(__name__)

_UNUSED = (OrderState.DRAFTED, OrderState.SIGNED, OrderState.STORED, OrderState.VOIDED)
# Expected errors of a pass: they are logged, and the next pass retries.
_EXPECTED = (ChainError, LedgerError, SendingError, SQLAlchemyError)
# Maximum subjects per pass; the others are due in the next pass.
_MAX_SUBJECTS = 1_000
# Seconds between progress log lines while catching up.
_LOG_INTERVAL = 2.0


@dataclass(slots=True)
class WorkerState:
    """Progress of the worker, for the health check."""

    read: int | None = None
    """Block up to which transfers are read."""
    latest: int | None = None
    passed: float | None = None
    """Unix time in seconds of the last complete pass."""
    errors: int = 0
    """Consecutive failed passes."""
    passes: int = 0
    """Complete passes."""
    failed_passes: int = 0
    share: WorkShare = field(default_factory=lambda: WorkShare(0, 1))

    @property
    def caught_up(self) -> bool:
        """True if transfers are read up to the newest block seen."""
        return self.behind == 0

    @property
    def behind(self) -> int | None:
        """Blocks in which transfers are not read yet; None before the first read."""
        return None if self.read is None or self.latest is None else max(self.latest - self.read, 0)


class Worker:
    """Worker that advances everything, one `run_pass` at a time."""

    def __init__(
        self, backend: Backend, processes: ProcessRegistry, pool: Executor, changed: Callable[[], None]
    ) -> None:
        """Set up the worker. `pool` advances orders, refunds and payouts. `changed` is called after each pass."""
        self.state = WorkerState()
        self._backend = backend
        self._processes = processes
        self._pool = pool
        self._changed = changed
        self._scheduler = Scheduler()
        self._watcher = TransferWatcher(backend.ledger, backend.node, backend.watcher_settings, self._read)
        self._busy: set[tuple[str, str]] = set()
        self._polled: list[tuple[tuple[str, str], Any]] = []
        self._lock = threading.Lock()
        self._logged_at = 0.0
        self._watched = 0.0
        self._seen = 0.0

    def run_pass(self) -> None:
        """Run one pass. Errors are logged, and the next pass retries."""
        now = self._backend.clock()
        try:
            self._beat(now)
            self._watch(now)
            moment = CachedHeads(self._backend.node)
            self._advance(self._expiring(moment), now)
        except _EXPECTED as error:
            self.state.errors += 1
            self.state.failed_passes += 1
            level = logging.ERROR if isinstance(error, FinalityBroken) else logging.WARNING
            log.log(level, "pass failed", extra={"error": f"{type(error).__name__}: {error}"[:300]})
        else:
            self.state.errors = 0
            self.state.passes += 1
            self.state.passed = now
        self._changed()

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
        try:
            self._watcher.poll()
        except ConcurrentUpdate:
            log.debug("another process is the watcher")

    def _read(self, read: int, latest: int) -> None:
        """Record the watcher's progress after each range of blocks."""
        state, now = self.state, self._backend.clock()
        behind = latest - read
        if behind > 0 and now - self._logged_at >= _LOG_INTERVAL:
            log.info("catching up with transfers", extra={"read": read, "latest": latest, "behind": behind})
            self._logged_at = now
        elif behind == 0 and state.read is not None and not state.caught_up:
            log.info("caught up with transfers", extra={"read": read})
        state.read, state.latest = read, latest

    def _expiring(self, moment: CachedHeads) -> list[str]:
        """Return the orders whose validBefore a final block has reached."""
        final = moment.head("finalized")
        if final is None:
            return []
        over = select(OrderRecord.id).where(OrderRecord.state.in_(_UNUSED), OrderRecord.valid_before <= final.timestamp)
        with self._backend.database.reading() as tx:
            return list(tx.execute(over.order_by(OrderRecord.id)).scalars())

    def _advance(self, expiring: list[str], now: float) -> None:
        with self._lock:
            polled, self._polled = self._polled, []
        for subject, status in polled:
            effected = status is not None and status[1] in EFFECTED
            self._scheduler.record_poll(subject, status, now, effected=effected)
        backend, share = self._backend, self.state.share
        waiting = [("expiry", id) for id in expiring]
        waiting += [("orders", id) for id in backend.progress.waiting(watched=True)]
        waiting += [("refunds", id) for id in backend.refunds.waiting()]
        waiting += [("payouts", id) for id in backend.payouts.waiting()]
        due = self._scheduler.due([candidate for candidate in waiting if share.has(candidate[1])], now)[:_MAX_SUBJECTS]
        sent = self._scheduler.receipts_due(now)[:_MAX_SUBJECTS]
        hashes = self._hashes(due) | self._hashes(sent, without=Purpose.CAPTURE)
        receipts = self._receipts([hash for each in hashes.values() for hash in each])
        included = [each for each in sent if any(receipts.get(hash) is not None for hash in hashes[each[1]])]
        self._submit([*due, *included], CachedHeads(backend.node, receipts))

    def _hashes(self, subjects: list[tuple[str, str]], without: Purpose | None = None) -> dict[str, list[str]]:
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
        found = self._backend.node.batch([node_requests.receipt(hash) for hash in hashes])
        pairs = zip(hashes, found, strict=True)
        return {hash: receipt for hash, receipt in pairs if not isinstance(receipt, ChainError)}

    def _submit(self, subjects: list[tuple[str, str]], moment: ChainNode) -> None:
        """Submit each subject to the pool, unless it is already in progress."""
        sender = self._backend.sender.with_node(moment)
        for subject in subjects:
            with self._lock:
                if subject in self._busy:
                    continue
                self._busy.add(subject)
            self._pool.submit(self._advance_subject, subject, sender)

    def _advance_subject(self, subject: tuple[str, str], sender: TransactionSender) -> None:
        """Advance one subject. Its errors do not affect the others."""
        kind, id = subject
        status = None
        try:
            status = self._advance_row(kind, id, sender)
        except NotExpired:
            pass
        except _EXPECTED as error:
            message = f"{type(error).__name__}: {error}"[:300]
            log.info("failed to advance", extra={"kind": kind, "subject": id, "error": message})
        except Exception:  # a defect with this subject must not stop the others
            log.exception("failed to advance", extra={"kind": kind, "subject": id})
        finally:
            with self._lock:
                self._busy.discard(subject)
                self._polled.append((subject, status))

    def _advance_row(self, kind: str, id: str, sender: TransactionSender) -> tuple[str, str]:
        ledger, merchant = self._backend.ledger, self._backend.merchant
        if kind == "expiry":
            OrderReconciler(ledger, sender, merchant).expire(id)
            return ("", "")
        if kind == "orders":
            order = OrderReconciler(ledger, sender, merchant).advance(id)
            return (order.state, order.step)
        disbursements = self._backend.refunds if kind == "refunds" else self._backend.payouts
        row = type(disbursements)(ledger, sender, merchant).advance(id)
        return (row.state, row.step)
