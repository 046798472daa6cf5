"""Threads that check the items of wallets, whose code decides how long a check takes."""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Generic, TypeVar

from foreseal.payments.api.errors import ApiError
from foreseal.payments.group_operation import DeferredCheck, ItemResult, run_deferred
from foreseal.payments.merchant_context import inherit_merchant

MAX_THREADS = 8
"""Wallets that are checked at the same time."""
MAX_WAITING = 2_000
"""Maximum items that wait or are checked."""


_Checked = TypeVar("_Checked")


@dataclass(slots=True)
class _Request(Generic[_Checked]):
    """Results of a request, whose wallets are checked."""

    results: list[ItemResult[_Checked]]
    done: Callable[[Sequence[ItemResult[_Checked]]], None]
    left: int
    """Wallets that are not checked yet."""


class WalletChecks:
    """Threads for deferred checks. The items of one wallet in a request are checked one after the other."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(MAX_THREADS, "wallets", inherit_merchant())
        self._lock = threading.Lock()
        self._waiting = 0

    def submit(
        self,
        results: Sequence[ItemResult[_Checked]],
        done: Callable[[Sequence[ItemResult[_Checked]]], None],
    ) -> None:
        """Run the deferred checks among results. A thread then calls `done` with all results.

        The exception of a check is its result. Raises `ApiError` 503 if too many are waiting.
        """
        wallets: dict[str, list[int]] = {}
        for position, result in enumerate(results):
            if isinstance(result, DeferredCheck):
                wallets.setdefault(result.payer, []).append(position)
        size = sum(map(len, wallets.values()))
        with self._lock:
            if self._waiting + size > MAX_WAITING:
                message = f"{self._waiting} payments by wallets are waiting, at most {MAX_WAITING}: retry"
                raise ApiError(503, "overloaded", message, Retry_After="1")
            self._waiting += size
        request = _Request(list(results), done, len(wallets))
        for positions in wallets.values():
            self._pool.submit(self._check, request, positions)

    def stop(self) -> None:
        """Stop the threads after all submitted checks."""
        self._pool.shutdown()

    def _check(self, request: _Request[_Checked], positions: Sequence[int]) -> None:
        for position in positions:
            try:
                (request.results[position],) = run_deferred([request.results[position]])
            except BaseException as error:  # the error of one item harms no other
                request.results[position] = error if isinstance(error, Exception) else RuntimeError(repr(error))
        with self._lock:
            self._waiting -= len(positions)
            request.left -= 1
            is_done = not request.left
        if is_done:
            request.done(request.results)


def is_deferred(results: Sequence[ItemResult[_Checked]]) -> bool:
    """Return True if a check among the results is deferred."""
    return any(isinstance(result, DeferredCheck) for result in results)
