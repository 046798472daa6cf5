"""Webhook delivery: one thread with an event loop posts, and one thread accesses the database.

```text
database thread   record outcomes -> fan out -> claim for each target      one cycle, at most every 20 ms
                        ^                            |
event loop              '-- outcomes <-- POST <-- queue of each target     concurrent, limited per target
```

Each target has its own queue, connections and limit, so a slow or dead target delays no other. Memory is bounded: a
target has at most as many claimed deliveries as two times its limit.
"""

import asyncio
import contextlib
import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import uvloop
from sqlalchemy.exc import SQLAlchemyError

from foreseal.payments.api.webhook_outbox import (
    FAN_OUT_SIZE,
    MAX_RETRY_DELAY,
    ActiveTarget,
    ClaimedDelivery,
    DeliveryOutcome,
    WebhookOutbox,
)
from foreseal.payments.api.webhook_signature import sign
from foreseal.payments.api.webhooks import ConfiguredTarget
from foreseal.payments.configuration.webhook_targets import AddressPolicy
from foreseal.payments.ledger.event_types import event_id
from foreseal.payments.merchant_context import inherit_context, inherit_merchant
from foreseal.payments.task_progress import TaskProgress
from foreseal.payments.workers.webhook_target import TargetQueue, signing_keys
from foreseal.payments.workers.webhook_transport import (
    ATTEMPT_TIMEOUT,
    OpenTransport,
    PostFailed,
    WebhookHttpTransport,
    parse_retry_after,
)

log = logging.getLogger(__name__)

DEFAULT_CONCURRENCY = 128
"""Default of the maximum number of concurrent attempts to one target."""
MAX_CONNECTIONS = 512
"""Concurrent attempts of all targets together; targets share them equally."""
MIN_LEASE = 3 * ATTEMPT_TIMEOUT
"""Minimum seconds of a lease: an attempt, a wait for it, and a difference between the clocks of two processes."""

# Seconds by which the lease of a delivery must outlast its attempt.
_LEASE_MARGIN = 5.0
# Seconds between cycles if nothing wakes the loop.
_POLL_INTERVAL = 0.5
# Seconds in which outcomes and new events gather before a cycle.
_BATCH_INTERVAL = 0.02
# Seconds that a stop waits for attempts in progress.
_STOP_TIME = 5.0
_GONE = 410
_OVERLOADED = frozenset({429, 502, 503, 504})


@dataclass(frozen=True, slots=True)
class DispatcherSettings:
    """Settings of the dispatcher."""

    configured: Mapping[str, ConfiguredTarget]
    """Targets of the configuration by id."""
    policy: AddressPolicy
    """Addresses of registered targets."""
    concurrency: int = DEFAULT_CONCURRENCY
    """Maximum number of concurrent attempts to one target."""


class WebhookDispatcher:
    """Dispatcher of webhooks to all targets."""

    def __init__(
        self,
        outbox: WebhookOutbox,
        settings: DispatcherSettings,
        transport: OpenTransport = WebhookHttpTransport,
        observe: Callable[[DeliveryOutcome, float], None] = lambda outcome, seconds: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Set up the threads, which `start` starts. `transport` replaces HTTP.

        `observe` receives the outcome of each attempt and its duration in seconds. `clock` is monotonic.
        """
        self.progress = TaskProgress(clock)
        """Last successful cycle."""
        self._observe = observe
        self._outbox = outbox
        self._settings = settings
        self._open = transport
        self._targets: dict[str, TargetQueue] = {}
        self._outcomes: list[DeliveryOutcome] = []
        self._returned: list[ClaimedDelivery] = []
        self._posts: set[asyncio.Task[None]] = set()
        self._maximum = settings.concurrency
        self._stopping = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._news = asyncio.Event()
        self._database = ThreadPoolExecutor(1, "webhook database", inherit_merchant())
        self._thread = threading.Thread(target=inherit_context(self._run), name="webhooks", daemon=True)

    def start(self) -> None:
        """Start the threads."""
        self._thread.start()

    def stop(self) -> None:
        """Stop after the attempts in progress, or after 5 s. Claims of unfinished attempts are released."""
        self._stopping = True
        self.wake()
        if self._thread.ident is not None:
            self._thread.join()
        self._database.shutdown()

    def wake(self) -> None:
        """Signal that there may be new events. May be called from any thread."""
        loop = self._loop
        if loop is not None:
            with contextlib.suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(self._news.set)

    async def run_cycle(self) -> None:
        """Record outcomes, fan out, and claim and start due deliveries. Raises the database's errors."""
        now = self._outbox.clock()
        for target in self._targets.values():
            self._returned += target.remove_surplus(self._maximum, now)
        outcomes, self._outcomes = self._outcomes, []
        returned, self._returned = self._returned, []
        capacities = {id: target.capacity(self._maximum, now) for id, target in self._targets.items()}
        loop = asyncio.get_running_loop()
        try:
            active, claimed = await loop.run_in_executor(self._database, self._exchange, outcomes, returned, capacities)
        except BaseException:
            self._outcomes = outcomes + self._outcomes
            self._returned = returned + self._returned
            raise
        await self._update_targets(active)
        # The claims belong to active targets, which all have a queue now.
        for delivery in claimed:
            self._targets[delivery.webhook_id].queue.append(delivery)
        for target in self._targets.values():
            self._start_posts(target)

    async def finish_posts(self) -> None:
        """Wait for all attempts in progress."""
        while self._posts:
            await asyncio.wait(self._posts)

    async def close(self) -> None:
        """Close all connections."""
        for target in self._targets.values():
            await target.transport.close()
        self._targets.clear()

    def _exchange(
        self,
        outcomes: Sequence[DeliveryOutcome],
        returned: Sequence[ClaimedDelivery],
        capacities: Mapping[str, int],
    ) -> tuple[list[ActiveTarget], list[ClaimedDelivery]]:
        """Access the database for one cycle, in its thread."""
        self._outbox.record(outcomes)
        self._outbox.release(returned)
        if self._outbox.fan_out() == FAN_OUT_SIZE:
            self.wake()
        active = self._outbox.targets()
        claimed: list[ClaimedDelivery] = []
        for target in active:
            capacity = capacities.get(target.hook.id, 0)
            if target.due and capacity:
                claimed += self._outbox.claim(target.hook.id, capacity)
        # The queue of a new target exists after this cycle.
        if any(target.due and target.hook.id not in capacities for target in active):
            self.wake()
        return active, claimed

    async def _update_targets(self, active: Sequence[ActiveTarget]) -> None:
        """Add new targets, remove retired ones, and replace the transports of changed ones."""
        now = self._outbox.clock()
        self._maximum = max(min(self._settings.concurrency, MAX_CONNECTIONS // max(len(active), 1)), 1)
        for id in self._targets.keys() - {target.hook.id for target in active}:
            await self._remove(id)
        for hook in (target.hook for target in active):
            configured = self._settings.configured.get(hook.id)
            policy = self._settings.policy if configured is None else configured.policy
            target = self._targets.get(hook.id)
            if target is None or (target.url, target.policy) != (hook.url, policy):
                if target is not None:
                    await self._remove(hook.id)
                target = TargetQueue(hook.url, policy, self._open(hook.url, policy))
                self._targets[hook.id] = target
            try:
                target.keys = signing_keys(hook, () if configured is None else configured.secrets, now)
            except ValueError as error:  # it must not stop the other targets
                if target.keys is not None:
                    log.warning("invalid secret of a webhook", extra={"webhook": hook.id, "error": str(error)})
                target.keys = None

    async def _remove(self, id: str) -> None:
        """Remove a target. Its attempts in progress end."""
        target = self._targets.pop(id)
        self._returned += target.queue
        target.queue.clear()
        await target.transport.close()

    def _start_posts(self, target: TargetQueue) -> None:
        while (delivery := target.next(self._maximum, self._outbox.clock())) is not None:
            target.in_flight += 1
            task = asyncio.create_task(self._post(target, delivery))
            self._posts.add(task)
            task.add_done_callback(self._posts.discard)

    async def _post(self, target: TargetQueue, delivery: ClaimedDelivery) -> None:
        """Attempt one delivery and start the next one."""
        now = self._outbox.clock()
        try:
            if now + ATTEMPT_TIMEOUT + _LEASE_MARGIN <= delivery.leased_until:
                began = time.perf_counter()
                outcome = await self._attempt(target, delivery)
                self._observe(outcome, time.perf_counter() - began)
                self._outcomes.append(outcome)  # a cycle may have replaced the list in the meantime
            else:  # another process could claim it during the attempt
                self._returned.append(delivery)
        except asyncio.CancelledError:
            self._returned.append(delivery)
            raise
        finally:
            target.in_flight -= 1
            self._news.set()
            if not self._stopping:
                self._start_posts(target)

    async def _attempt(self, target: TargetQueue, delivery: ClaimedDelivery) -> DeliveryOutcome:
        headers = sign(target.keys or (), event_id(delivery.event_id), int(self._outbox.clock()), delivery.body)
        try:
            response = await target.transport.post(delivery.body, headers)
        except PostFailed as failure:
            target.window.overloaded()
            return DeliveryOutcome(delivery, str(failure))
        now, status = self._outbox.clock(), response.status
        if 200 <= status < 300:
            target.window.succeeded(self._maximum)
            return DeliveryOutcome(delivery)
        if status not in _OVERLOADED:
            target.window.succeeded(self._maximum)
            redirect = "; redirects are not followed" if 300 <= status < 400 else ""
            return DeliveryOutcome(delivery, f"status {status}{redirect}", is_gone=status == _GONE)
        target.window.overloaded()
        wait = min(parse_retry_after(response.retry_after, now), MAX_RETRY_DELAY)
        target.paused_until = max(target.paused_until, now + wait)
        return DeliveryOutcome(delivery, f"status {status}", wait)

    def _run(self) -> None:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(self._serve())

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        while not self._stopping:
            self._news.clear()
            try:
                await self.run_cycle()
                self.progress.record()
            except SQLAlchemyError as error:
                log.warning("webhooks are waiting for the database", extra={"error": type(error).__name__})
                await asyncio.sleep(_POLL_INTERVAL)
            except Exception:  # the thread survives any error, so the next cycle may succeed
                log.exception("unexpected error in the webhook dispatcher")
                await asyncio.sleep(_POLL_INTERVAL)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_POLL_INTERVAL):
                    await self._news.wait()
            await asyncio.sleep(_BATCH_INTERVAL)
        await self._end()

    async def _end(self) -> None:
        """Wait for attempts in progress, record them, and release all other claims."""
        if self._posts:
            _, unfinished = await asyncio.wait(self._posts, timeout=_STOP_TIME)
            for task in unfinished:
                task.cancel()
            await asyncio.gather(*unfinished, return_exceptions=True)
        for target in self._targets.values():
            self._returned += target.queue
        await self.close()
        try:
            self._outbox.record(self._outcomes)
            self._outbox.release(self._returned)
        except SQLAlchemyError as error:  # the leases end, or the next process of this name releases them
            log.warning("the results of webhooks are not recorded", extra={"error": type(error).__name__})
