"""Requests that create, sign and capture orders; those that arrive at the same time are processed as one group.

```text
submit -> [queue] -> stored responses of repeated keys
            ^        check   one batch of node requests for all items of one operation
            |                items of wallets leave the group; threads of their own check them
            '----------------'
                     store   one transaction: orders, captures, and the response with its Idempotency-Key
                     send    one batch of transactions
                     respond
```

While one group is processed, the next one gathers: under load groups grow, and each request costs less. The response
is committed together with its effect, so a repeated key finds both or neither. A response is sent after the node has
answered for the transactions, so that the caller's next request to the node finds them. No request waits for the code
of another payer's wallet.
"""

import logging
import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Generic

import orjson
from sqlalchemy.exc import IntegrityError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from foreseal.payments.api.errors import ApiError
from foreseal.payments.api.idempotency import IdempotentRequests, StoredResponse
from foreseal.payments.api.wallet_checks import WalletChecks, is_deferred
from foreseal.payments.group_operation import Checked, GroupOperation, Item, ItemResult, Outcome
from foreseal.payments.ledger import ConcurrentUpdate, Database
from foreseal.payments.merchant_context import inherit_context
from foreseal.payments.transactions import TransactionStillOpen

log = logging.getLogger(__name__)

# Maximum items of a group of small requests.
_GROUP_SIZE = 200
# Seconds in which a group gathers further requests, if the group before had several: each then costs less.
_GATHERING = 0.02
# A request with more items is a group of its own. Such groups alternate with groups of small requests, so that a
# single payment waits for at most one of them.
_SMALL = 20
# Maximum items that wait, and those of large requests among them; a request beyond is rejected before anything is
# stored.
_MAX_WAITING, _MAX_LARGE = 10_000, 8_000

# Errors of a group after which its requests are processed one by one.
_CONFLICTS = (IntegrityError, ConcurrentUpdate, TransactionStillOpen)
# Errors that all requests of a group have.
_UNAVAILABLE = (OperationalError, PoolTimeout)


@dataclass(frozen=True, slots=True)
class PaymentJob(Generic[Item, Checked, Outcome]):
    """One request."""

    key: str
    """Idempotency-Key."""
    fingerprint: str
    operation: GroupOperation[Item, Checked, Outcome]
    items: Sequence[Item]
    respond: Callable[[Sequence[Outcome | Exception]], StoredResponse]
    """Returns the response for the outcome of each item, or raises `ApiError`, which is stored unless it may pass."""
    subjects: Collection[str] = ()
    """Existing orders that the request changes. Two requests of one group never change the same order."""
    future: "Future[tuple[StoredResponse, bool]]" = field(default_factory=Future)
    """Response, and True if it was stored by an earlier request with this key."""
    wallet: str | None = None
    """Wallet whose code checks a shopper's signature."""
    checked: Sequence[ItemResult[Checked]] | None = None
    """Results of the checks of a job that returns from the threads for wallets."""


AnyOperation = GroupOperation[Any, Any, Any]
AnyJob = PaymentJob[Any, Any, Any]
"""Job of any operation."""
_Checked = dict[str, list[Any]]
"""Results of checks by the key of their job, whose operation determines their type."""


class PaymentQueue:
    """Queue with one thread, which processes groups, and with threads that check wallets."""

    def __init__(
        self,
        database: Database,
        requests: IdempotentRequests,
        changed: Callable[[], None],
        gather: Callable[[float], None] = time.sleep,
    ) -> None:
        """Set up the thread. `changed` is called after each group, `gather` waits while further requests arrive."""
        self._database = database
        self._requests = requests
        self._changed = changed
        self._jobs: queue.SimpleQueue[AnyJob | None] = queue.SimpleQueue()
        self._small: deque[AnyJob] = deque()
        self._large: deque[AnyJob] = deque()
        self._large_is_next = False
        self._sizes = {False: 0, True: 0}
        """Items of small and of large jobs that wait or are processed."""
        self._lock = threading.Lock()
        self._gather = gather
        self._thread = threading.Thread(target=inherit_context(self._run), name="payments", daemon=True)
        self._wallets = WalletChecks()
        self._away = 0
        """Jobs at the threads that check wallets."""

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """Stop the threads after all submitted jobs."""
        if self._thread.ident is not None:
            self._jobs.put(None)
            self._thread.join()
        self._wallets.stop()

    def submit(self, job: AnyJob) -> None:
        """Add a job, whose future gets the response or the error. Raises `ApiError` 503 if too many are waiting."""
        size, is_large = len(job.items), _is_large(job)
        with self._lock:
            waiting = sum(self._sizes.values())
            if waiting + size > _MAX_WAITING or (is_large and self._sizes[True] + size > _MAX_LARGE):
                message = f"{waiting} items are waiting, at most {_MAX_WAITING}: retry with the same key"
                raise ApiError(503, "overloaded", message, Retry_After="1")
            self._sizes[is_large] += size
        # A client that disconnects cancels its wait, not the future, which the queue completes in any case.
        job.future.set_running_or_notify_cancel()
        self._jobs.put(job)

    def _run(self) -> None:
        stopping, concurrent = False, False
        while not stopping or self._small or self._large or self._away:
            group, stopping = self._next_group(stopping, concurrent=concurrent)
            concurrent = len(group) > 1
            if not group:
                continue
            try:
                self.process(group)
            except (
                BaseException
            ) as error:  # each job of the group gets it, and the thread continues with the next group
                for job in group:
                    if not job.future.done():
                        job.future.set_exception(error)
            finally:
                with self._lock:
                    for job in group:
                        self._sizes[_is_large(job)] -= len(job.items)

    def _next_group(self, stopping: bool, *, concurrent: bool) -> tuple[list[AnyJob], bool]:
        """Wait for a job. Return a large one, or small ones up to the size of a group; they alternate."""
        for job in self._arriving(stopping, concurrent=concurrent):
            if job is None:
                stopping = True
                continue
            self._away -= job.checked is not None
            if not job.future.done():
                (self._large if _is_large(job) else self._small).append(job)
        if self._large and (self._large_is_next or not self._small):
            self._large_is_next = False
            return [self._large.popleft()], stopping
        self._large_is_next = True
        return self._small_group(), stopping

    def _small_group(self) -> list[AnyJob]:
        group: list[AnyJob] = []
        later: list[AnyJob] = []
        keys: set[str] = set()
        subjects: set[str] = set()
        size = 0
        while self._small and size < _GROUP_SIZE:
            job = self._small.popleft()
            if job.key in keys or not subjects.isdisjoint(job.subjects) or size + len(job.items) > _GROUP_SIZE:
                # In the next group, a repeated key finds the response, and an order its new state.
                later.append(job)
            else:
                group.append(job)
                keys.add(job.key)
                size += len(job.items)
            subjects.update(job.subjects)
        self._small.extendleft(reversed(later))
        return group

    def _arriving(self, stopping: bool, *, concurrent: bool) -> Iterator[AnyJob | None]:
        """Yield the jobs in the queue; if none is left, wait for one, and gather if requests are concurrent."""
        if not self._small and not self._large and (not stopping or self._away):
            yield self._jobs.get()
            if concurrent:
                self._gather(_GATHERING)
        while True:
            try:
                yield self._jobs.get_nowait()
            except queue.Empty:
                return

    def process(self, group: Sequence[AnyJob]) -> None:
        """Process jobs with distinct keys as one group.

        Every job's future has a result afterwards, or the job returns to the queue once its wallets are checked.
        """
        fresh, checked = self._replay(group), _Checked()
        if len(fresh) > 1:
            try:
                checked = self._check(fresh)
                self._store([job for job in fresh if not is_deferred(checked[job.key])], checked)
            except _CONFLICTS:  # another process stored an order or a key of this group at the same time
                log.info("a group of requests is processed one by one", extra={"requests": len(fresh)})
            except _UNAVAILABLE:  # one by one, each request would wait for the database
                raise
            except Exception:  # the error of one request must not fail the others
                log.exception("failed to process a group of requests", extra={"requests": len(fresh)})
        for job in fresh:
            if not job.future.done():
                self._process_alone(job, checked)

    def _replay(self, group: Sequence[AnyJob]) -> list[AnyJob]:
        """Answer the jobs whose keys have a stored response. Return the others."""
        with self._database.reading() as tx:
            stored = self._requests.stored(tx, {job.key: job.fingerprint for job in group})
        fresh = []
        for job in group:
            answer = stored.get(job.key)
            if answer is None:
                fresh.append(job)
            elif isinstance(answer, StoredResponse):
                job.future.set_result((answer, True))
            else:
                job.future.set_exception(answer)
        return fresh

    @staticmethod
    def _check(jobs: Sequence[AnyJob]) -> _Checked:
        """Return the checked items of each job, by key."""
        checked: _Checked = {job.key: list(job.checked) for job in jobs if job.checked is not None}
        for operation, same in _by_operation([job for job in jobs if job.checked is None]):
            results = iter(operation.check([item for job in same for item in job.items]))
            checked.update((job.key, [next(results) for _ in job.items]) for job in same)
        return checked

    def _process_alone(self, job: AnyJob, checked: _Checked) -> None:
        try:
            try:
                self._store_alone(job, checked if job.key in checked else self._check([job]))
            except _CONFLICTS:
                # The other process has committed: now the job's items are duplicates, or its response is replayed.
                if self._replay([job]):
                    self._store_alone(job, self._check([replace(job, checked=None)]))
        except Exception as error:  # its caller gets it, and the thread continues
            job.future.set_exception(error)

    def _store_alone(self, job: AnyJob, checked: _Checked) -> None:
        """Store a job; one with unchecked wallets leaves the queue until they are checked. Raises `ApiError` 503."""
        if not is_deferred(checked[job.key]):
            self._store([job], checked)
            return
        self._wallets.submit(checked[job.key], partial(self._return, job))
        self._away += 1

    def _return(self, job: PaymentJob[Item, Checked, Outcome], checked: Sequence[ItemResult[Checked]]) -> None:
        """Put a job whose wallets are checked back into the queue."""
        with self._lock:
            self._sizes[_is_large(job)] += len(job.items)
        self._jobs.put(replace(job, checked=checked))

    def _store(self, jobs: Sequence[AnyJob], checked: _Checked) -> None:
        """Store items and responses in one transaction, send, and respond. Raises nothing after the commit."""
        if not jobs:
            return
        answers: list[tuple[AnyJob, StoredResponse | Exception]] = []
        sending: list[tuple[AnyOperation, list[Any]]] = []
        with self._database.transaction() as tx:
            for operation, same in _by_operation(jobs):
                passed = [each for job in same for each in checked[job.key] if not isinstance(each, Exception)]
                stored = iter(operation.store(tx, passed))
                sending.append((operation, []))
                for job in same:
                    outcomes = [each if isinstance(each, Exception) else next(stored) for each in checked[job.key]]
                    answers.append((job, _respond(job, outcomes)))
                    sending[-1][1].extend(each for each in outcomes if not isinstance(each, Exception))
            stored_answers = [(job, answer) for job, answer in answers if isinstance(answer, StoredResponse)]
            self._requests.store(tx, [(job.key, job.fingerprint, answer) for job, answer in stored_answers])
        try:
            for operation, outcomes in sending:
                operation.send(outcomes)
        except Exception:  # the worker sends what is stored and not sent
            log.exception("failed to send transactions", extra={"requests": len(jobs)})
        for job, answer in answers:
            if isinstance(answer, StoredResponse):
                job.future.set_result((answer, False))
            else:
                job.future.set_exception(answer)
        self._changed()


def _is_large(job: AnyJob) -> bool:
    return len(job.items) > _SMALL


def _by_operation(jobs: Sequence[AnyJob]) -> list[tuple[AnyOperation, list[AnyJob]]]:
    """Return the jobs of each operation."""
    groups: dict[int, tuple[AnyOperation, list[AnyJob]]] = {}
    for job in jobs:
        groups.setdefault(id(job.operation), (job.operation, []))[1].append(job)
    return list(groups.values())


def _respond(
    job: PaymentJob[Item, Checked, Outcome], outcomes: Sequence[Outcome | Exception]
) -> StoredResponse | Exception:
    """Return the response, or the error that is not stored, as the same request may succeed later."""
    try:
        return job.respond(outcomes)
    except ApiError as error:
        if not error.passing:
            return StoredResponse(error.status, orjson.dumps(error.body()))
        if any(not isinstance(outcome, Exception) for outcome in outcomes):
            raise
        return error
