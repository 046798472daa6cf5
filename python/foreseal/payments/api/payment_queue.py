"""Payment requests that arrive at the same time, processed as one group.

```text
submit -> [queue] -> stored responses of repeated keys
                     check   one batch of node requests for all payments of the group
                     store   one transaction: orders, captures, and the response with its Idempotency-Key
                     respond
                     send    one batch of transactions
```

While one group is processed, the next one gathers: under load groups grow, and each request costs less. The response
is committed together with its effect, so a repeated key finds both or neither.
"""

import logging
import queue
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field

from sqlalchemy.exc import IntegrityError

from foreseal.payments.api.errors import ApiError
from foreseal.payments.api.idempotency import IdempotentRequests, StoredResponse
from foreseal.payments.ledger import Database
from foreseal.payments.orders.payment_groups import PaymentGroups
from foreseal.payments.orders.payments import CheckedPayment, NewPayment, StoredPayment

log = logging.getLogger(__name__)

# Maximum payments of a group, unless one request has more.
_GROUP_SIZE = 200
# Seconds in which a group gathers further requests, if the group before had several: each then costs less.
_GATHERING = 0.02
# Maximum payments that wait; a request beyond is rejected before anything is stored.
_MAX_WAITING = 10_000

PaymentOutcome = StoredPayment | Exception


@dataclass(frozen=True, slots=True)
class PaymentJob:
    """One request."""

    key: str
    """Idempotency-Key."""
    fingerprint: str
    payments: Sequence[NewPayment]
    respond: Callable[[Sequence[PaymentOutcome]], StoredResponse]
    """Returns the response for the outcome of each payment. It may raise an error that is not stored."""
    future: "Future[tuple[StoredResponse, bool]]" = field(default_factory=Future)
    """Response, and True if it was stored by an earlier request with this key."""


class PaymentQueue:
    """Queue with one thread, which processes groups."""

    def __init__(
        self,
        database: Database,
        requests: IdempotentRequests,
        payments: PaymentGroups,
        changed: Callable[[], None],
        gather: Callable[[float], None] = time.sleep,
    ) -> None:
        """Set up the thread. `changed` is called after each group, `gather` waits while further requests arrive."""
        self._database = database
        self._requests = requests
        self._payments = payments
        self._changed = changed
        self._jobs: queue.SimpleQueue[PaymentJob | None] = queue.SimpleQueue()
        self._waiting: list[PaymentJob] = []
        self._size = 0
        self._lock = threading.Lock()
        self._gather = gather
        self._thread = threading.Thread(target=self._run, name="payments", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """Stop the thread after all submitted jobs."""
        if self._thread.ident is not None:
            self._jobs.put(None)
            self._thread.join()

    def submit(self, job: PaymentJob) -> None:
        """Add a job, whose future gets the response or the error. Raises `ApiError` 503 if too many are waiting."""
        with self._lock:
            if self._size + len(job.payments) > _MAX_WAITING:
                message = f"{self._size} payments are waiting, at most {_MAX_WAITING}: retry with the same key"
                raise ApiError(503, "overloaded", message, Retry_After="1")
            self._size += len(job.payments)
        self._jobs.put(job)

    def _run(self) -> None:
        stopping, concurrent = False, False
        while not stopping or self._waiting:
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
                    self._size -= sum(len(job.payments) for job in group)

    def _next_group(self, stopping: bool, *, concurrent: bool) -> tuple[list[PaymentJob], bool]:
        """Wait for a job. Return it with the jobs that have arrived since, up to the size of a group."""
        group: list[PaymentJob] = []
        keys: set[str] = set()
        size = 0
        waiting, self._waiting = self._waiting, []
        for job in self._arriving(waiting, stopping, concurrent=concurrent):
            if job is None:
                stopping = True
            elif job.key in keys or (group and size + len(job.payments) > _GROUP_SIZE):
                # A repeated key finds the response of the first in the next group.
                self._waiting.append(job)
                if size >= _GROUP_SIZE:
                    break
            else:
                group.append(job)
                keys.add(job.key)
                size += len(job.payments)
        return group, stopping

    def _arriving(
        self, waiting: Sequence[PaymentJob], stopping: bool, *, concurrent: bool
    ) -> Iterator[PaymentJob | None]:
        """Yield waiting jobs, then those in the queue; wait for the first, and gather if requests are concurrent."""
        yield from waiting
        if not waiting and not stopping:
            yield self._jobs.get()
        if concurrent and not stopping and not waiting:
            self._gather(_GATHERING)
        while True:
            try:
                yield self._jobs.get_nowait()
            except queue.Empty:
                return

    def process(self, group: Sequence[PaymentJob]) -> None:
        """Process jobs with distinct keys as one group. Every job's future has a result afterwards."""
        fresh = self._replay(group)
        checked = self._check(fresh)
        if len(fresh) > 1:
            try:
                self._store(fresh, checked)
            except IntegrityError:  # another process stored a payment or a key of this group at the same time
                log.info("a group of payments is processed one by one", extra={"requests": len(fresh)})
            else:
                return
        for job in fresh:
            self._store_alone(job, checked)

    def _replay(self, group: Sequence[PaymentJob]) -> list[PaymentJob]:
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

    def _check(self, jobs: Sequence[PaymentJob]) -> dict[str, list[CheckedPayment | Exception]]:
        """Return the checked payments of each job, by key."""
        results = iter(self._payments.check([payment for job in jobs for payment in job.payments]) if jobs else ())
        return {job.key: [next(results) for _ in job.payments] for job in jobs}

    def _store_alone(self, job: PaymentJob, checked: dict[str, list[CheckedPayment | Exception]]) -> None:
        try:
            self._store([job], checked)
        except IntegrityError:
            # The other process has committed: now its payments are duplicates, or its response is replayed.
            if self._replay([job]):
                self._store([job], checked)
        except Exception as error:
            job.future.set_exception(error)

    def _store(self, jobs: Sequence[PaymentJob], checked: dict[str, list[CheckedPayment | Exception]]) -> None:
        """Store payments and responses in one transaction, respond, and send. Raises nothing after the commit."""
        answers: list[tuple[PaymentJob, StoredResponse | Exception]] = []
        captured: list[StoredPayment] = []
        with self._database.transaction() as tx:
            passed = [each for job in jobs for each in checked[job.key] if isinstance(each, CheckedPayment)]
            stored = iter(self._payments.store(tx, passed))
            for job in jobs:
                outcomes = [next(stored) if isinstance(each, CheckedPayment) else each for each in checked[job.key]]
                answers.append((job, _respond(job, outcomes)))
                captured += [each for each in outcomes if isinstance(each, StoredPayment) and each.payment.capture]
            stored_answers = [(job, answer) for job, answer in answers if isinstance(answer, StoredResponse)]
            self._requests.store(tx, [(job.key, job.fingerprint, answer) for job, answer in stored_answers])
        for job, answer in answers:
            if isinstance(answer, StoredResponse):
                job.future.set_result((answer, False))
            else:
                job.future.set_exception(answer)
        try:
            self._payments.send(captured)
        except Exception:  # the worker sends what is stored and not sent
            log.exception("failed to send captures", extra={"captures": len(captured)})
        self._changed()


def _respond(job: PaymentJob, outcomes: Sequence[PaymentOutcome]) -> StoredResponse | Exception:
    """Return the response, or the error if nothing was stored and the same request may succeed later."""
    try:
        return job.respond(outcomes)
    except Exception as error:
        if any(isinstance(outcome, StoredPayment) for outcome in outcomes):
            raise
        return error
