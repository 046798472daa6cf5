"""Calls whose cost strangers choose: of the code of a payer's wallet, or of a token that a stranger names.

```text
merchant's calls ------------------------------------> client, circuit breaker
strangers' calls --> slot ---> gas, seconds ---------> client, circuit breaker of their own
                      |          |
                      |          '-- too slow: `CodeTimeout`, and no call of this party for PAUSE seconds
                      '-- none free within MAX_WAIT seconds: `TooManyCalls`
```

The *party* of a call is the account whose code decides its cost. The calls have limits of their own, so that the
merchant's calls never wait for them. A timeout is a fact about the party: only a broken connection counts for the
circuit breaker.
"""

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, TypeVar

from foreseal.client.errors import TimedOut
from foreseal.client.options import Options
from foreseal.client.requests import Request
from foreseal.payments.chain.circuit_breaker import CircuitBreaker
from foreseal.payments.chain.errors import NoFreeCall, SlowCode
from foreseal.payments.chain.rpc_node import BatchClient, RpcNode

T = TypeVar("T")

TIME_LIMIT = 1.0
"""Seconds that a call may take."""
CALL_GAS = 3_000_000
"""Gas of a call that names no gas limit."""
MAX_CALLS = 8
"""Calls at the same time."""
MAX_PARTY_CALLS = 2
"""Calls of one party at the same time."""
MAX_WAITING = 16
"""Calls that wait. Each holds a thread of a request."""
MAX_WAIT = 0.5
"""Seconds that a call waits for others."""
PAUSE = 5.0
"""Seconds after a timeout in which a party is not called."""
RETRY_AFTER = 1.0
"""Seconds after which a call without a slot is worth a retry."""

_MAX_RESPONSE = 4 * 1024 * 1024
_EXECUTED = ("eth_call", "eth_estimateGas")


def stranger_options(options: Options) -> Options:
    """Return the options of the client for strangers' calls, which are not retried."""
    return replace(options, timeout=TIME_LIMIT, attempts=1, max_response_size=_MAX_RESPONSE)


class StrangerCalls:
    """Limits of all strangers' calls to one node. For any thread."""

    def __init__(
        self,
        client: BatchClient,
        breaker: CircuitBreaker,
        gas: int = CALL_GAS,
        clock: Callable[[], float] = time.monotonic,
        changed: threading.Condition | None = None,
    ) -> None:
        """Set up. `client` has `stranger_options`, and no other calls; nor has `breaker`.

        `gas` is that of a call without a gas limit. `clock` is monotonic, in seconds. `changed` is notified when a
        call ends.
        """
        self._client = client
        self._breaker = breaker
        self._gas = hex(gas)
        self._clock = clock
        self._changed = changed or threading.Condition()
        self._calls: Counter[str] = Counter()
        self._waiting = 0
        self._paused: dict[str, float] = {}
        """Times at which the pauses of parties end."""

    def node(self, party: str) -> RpcNode:
        """Return the node for calls of this account's code.

        Its methods raise `CodeTimeout` if a call takes too long, and `TooManyCalls`.
        """
        return RpcNode(_PartyClient(self, party))

    def request(self, party: str, method: str, params: Sequence[object]) -> object:
        """Return the result of a request. Raises like the client, `CircuitOpen`, `SlowCode` and `NoFreeCall`."""
        limited = self._limited(method, params)
        return self._call(party, lambda: self._client.request(method, *limited))

    def batch(self, party: str, requests: Sequence[Request[object]], *, return_errors: bool) -> list[object]:
        """Return the results in request order. Raises like `request`."""
        limited = [replace(each, params=self._limited(each.method, each.params)) for each in requests]
        return self._call(party, lambda: self._client.batch(limited, return_errors=return_errors))

    def _limited(self, method: str, params: Sequence[Any]) -> tuple[Any, ...]:
        """Return the parameters with a gas limit, if the request executes code without one."""
        if method not in _EXECUTED or "gas" in params[0]:
            return tuple(params)
        return ({**params[0], "gas": self._gas}, *params[1:])

    def _call(self, party: str, act: Callable[[], T]) -> T:
        def timed() -> T:
            try:
                return act()
            except TimedOut as error:
                self._pause(party)
                raise SlowCode(f"the code of {party} did not end within {TIME_LIMIT:g} s") from error

        with self._slot(party):
            # `SlowCode` is no failure of the node, so the breaker does not count it.
            return self._breaker.call(timed)

    @contextmanager
    def _slot(self, party: str) -> Iterator[None]:
        """Count a call of a party. Raises `SlowCode` during a pause, and `NoFreeCall`."""
        with self._changed:
            self._wait(party)
            self._calls[party] += 1
        try:
            yield
        finally:
            with self._changed:
                self._calls[party] -= 1
                if not self._calls[party]:
                    del self._calls[party]
                self._changed.notify_all()

    def _wait(self, party: str) -> None:
        """Wait until the party may be called."""
        end = self._clock() + MAX_WAIT
        self._check_pause(party)
        if not self._is_full(party):
            return
        if self._waiting >= MAX_WAITING:
            raise _busy()
        self._waiting += 1
        try:
            while self._is_full(party):
                left = end - self._clock()
                if left <= 0:
                    raise _busy()
                self._changed.wait(left)
                self._check_pause(party)
        finally:
            self._waiting -= 1

    def _is_full(self, party: str) -> bool:
        return self._calls.total() >= MAX_CALLS or self._calls[party] >= MAX_PARTY_CALLS

    def _check_pause(self, party: str) -> None:
        left = self._paused.get(party, 0.0) - self._clock()
        if left > 0:
            raise SlowCode(
                f"the code of {party} did not end within {TIME_LIMIT:g} s; it is called again in {left:.1f} s"
            )

    def _pause(self, party: str) -> None:
        with self._changed:
            now = self._clock()
            self._paused = {each: end for each, end in self._paused.items() if end > now}
            self._paused[party] = now + PAUSE
            self._changed.notify_all()


class _PartyClient:
    """Client for the calls of one party."""

    def __init__(self, calls: StrangerCalls, party: str) -> None:
        self._calls = calls
        self._party = party

    def request(self, method: str, *params: object) -> object:
        return self._calls.request(self._party, method, params)

    def batch(self, requests: Sequence[Request[object]], *, return_errors: bool = False) -> list[object]:
        return self._calls.batch(self._party, requests, return_errors=return_errors)


def _busy() -> NoFreeCall:
    message = "too many calls of the code of payers or tokens at the same time: retry"
    return NoFreeCall(message, RETRY_AFTER)
