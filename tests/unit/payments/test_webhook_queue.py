"""The queue of one target: its limits, and the concurrency that follows the target's responses."""

from collections.abc import Mapping
from typing import Any

import pytest

from foreseal.payments.api.webhook_outbox import ClaimedDelivery
from foreseal.payments.configuration.webhook_targets import PUBLIC_ONLY
from foreseal.payments.workers.webhook_target import FIRST_CONCURRENCY, ConcurrencyWindow, TargetQueue
from foreseal.payments.workers.webhook_transport import PostResponse, parse_retry_after

NOW = 1_795_338_559.0
MAXIMUM = 128


class NoTransport:
    """A transport that is not used."""

    async def post(self, body: bytes, headers: Mapping[str, str]) -> PostResponse:
        raise AssertionError

    async def close(self) -> None:
        raise AssertionError


def queue(waiting: int = 0, **more: Any) -> TargetQueue:
    made = TargetQueue("http://a.example/", PUBLIC_ONLY, NoTransport(), [b"key"], **more)
    made.queue.extend(ClaimedDelivery(number, "x", number, "orders", "a", 0, NOW, b"") for number in range(waiting))
    return made


def test_concurrency_grows_by_successes_and_halves_by_overload() -> None:
    window = ConcurrencyWindow(FIRST_CONCURRENCY)
    for _ in range(MAXIMUM):
        window.succeeded(MAXIMUM)
    assert window.limit == MAXIMUM
    limits = []
    for _ in range(9):
        window.overloaded()
        limits.append(window.limit)
    assert limits == [64, 32, 16, 8, 4, 2, 1, 1, 1]
    window.succeeded(MAXIMUM)
    assert window.limit == 2


def test_claims_are_limited_by_attempts_and_queue() -> None:
    target = queue()
    assert target.capacity(MAXIMUM, NOW) == 2 * FIRST_CONCURRENCY
    assert target.capacity(4, NOW) == 8
    target = queue(10, in_flight=16)
    assert target.capacity(MAXIMUM, NOW) == 2 * FIRST_CONCURRENCY - 26
    assert queue(50, in_flight=16).capacity(MAXIMUM, NOW) == 0
    # A target that does not respond has one attempt, and no queue.
    slow = queue(3, window=ConcurrencyWindow(1))
    assert slow.remove_surplus(MAXIMUM, NOW) == list(reversed(queue(3).queue))
    assert slow.capacity(MAXIMUM, NOW) == 1


def test_paused_target_and_target_without_a_secret_get_nothing() -> None:
    paused = queue(2, paused_until=NOW + 1)
    assert (paused.capacity(MAXIMUM, NOW), paused.next(MAXIMUM, NOW)) == (0, None)
    assert len(paused.remove_surplus(MAXIMUM, NOW)) == 2
    assert paused.capacity(MAXIMUM, NOW + 1) == 2 * FIRST_CONCURRENCY
    without = queue()
    without.keys = ()
    assert without.capacity(MAXIMUM, NOW) == 0


def test_next_delivery_waits_for_a_free_attempt() -> None:
    target = queue(2, in_flight=FIRST_CONCURRENCY)
    assert target.next(MAXIMUM, NOW) is None
    target.in_flight -= 1
    assert target.next(MAXIMUM, NOW) == queue(1).queue[0]
    assert target.next(3, NOW) is None


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        (None, 0),
        ("120", 120),
        ("0", 0),
        ("9" * 30, 999_999_999),
        ("-5", 0),
        ("1.5", 0),
        ("soon", 0),
        ("", 0),
        ("Sun, 22 Nov 2026 09:07:39 GMT", 0),
        ("Sun, 22 Nov 2026 09:44:39 GMT", 2_120),
        ("Sun, 99 Nov 2026 09:11:19 GMT", 0),
    ],
)
def test_retry_after_has_seconds_or_a_date(text: str | None, seconds: float) -> None:
    assert parse_retry_after(text, NOW) == seconds
