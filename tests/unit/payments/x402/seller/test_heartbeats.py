"""Heartbeats renew the leases of runs in progress, and no others."""

import threading

import pytest
from sqlalchemy.exc import OperationalError

from foreseal.payments.x402.seller.heartbeats import Heartbeats

NEVER = 3_600.0


class Lease:
    """Counts renewals."""

    def __init__(self) -> None:
        self.renewals = 0
        self.lost = False
        self.failure: Exception | None = None

    def renew(self) -> bool:
        self.renewals += 1
        if self.failure is not None:
            raise self.failure
        return not self.lost


class Clock:
    """A clock in seconds, and the heartbeats that it drives."""

    def __init__(self) -> None:
        self.now = 0
        self.beats = Heartbeats(lambda: self.now, NEVER)

    def pass_seconds(self, seconds: int) -> None:
        """Beat once in every second."""
        for _ in range(seconds):
            self.now += 1
            self.beats.beat()


def test_lease_is_renewed_at_each_interval_until_the_run_ends() -> None:
    clock, lease, other = Clock(), Lease(), Lease()
    with clock.beats.running("a", lease.renew, 20):
        clock.pass_seconds(61)
        assert lease.renewals == 3
        with clock.beats.running("b", other.renew, 5):
            clock.pass_seconds(5)
    clock.pass_seconds(100)
    assert (lease.renewals, other.renewals) == (3, 1)


def test_lost_lease_is_not_renewed_again() -> None:
    clock, lease = Clock(), Lease()
    lease.lost = True
    with clock.beats.running("a", lease.renew, 20):
        clock.pass_seconds(60)
    assert lease.renewals == 1


def test_failed_renewal_is_retried_and_delays_no_other(caplog: pytest.LogCaptureFixture) -> None:
    clock, failing, other = Clock(), Lease(), Lease()
    failing.failure = OperationalError("", None, Exception("database is unreachable"))
    with clock.beats.running("a", failing.renew, 20), clock.beats.running("b", other.renew, 20):
        clock.pass_seconds(21)
        failing.failure = None
        clock.pass_seconds(2)
    assert (failing.renewals, other.renewals) == (3, 1)
    assert "cannot renew lease" in caplog.text


def test_unexpected_error_of_a_renewal_delays_the_others_by_one_check() -> None:
    clock, broken, other = Clock(), Lease(), Lease()
    broken.failure = RuntimeError("a defect")
    with clock.beats.running("a", broken.renew, 20), clock.beats.running("b", other.renew, 20):
        clock.pass_seconds(19)
        with pytest.raises(RuntimeError, match="a defect"):
            clock.pass_seconds(1)
        assert other.renewals == 0
        clock.pass_seconds(1)
        assert (broken.renewals, other.renewals) == (1, 1)


def test_thread_renews_while_a_run_blocks_its_caller() -> None:
    now, renewed = 0, threading.Event()

    def renew() -> bool:
        renewed.set()
        return True

    beats = Heartbeats(lambda: now, 0.001)
    for _ in range(2):
        with beats.running("a", renew, 20):
            now += 20
            assert renewed.wait(30)
        renewed.clear()


def test_thread_ends_without_runs_and_starts_again_with_the_next() -> None:
    clock, lease = Clock(), Lease()
    for _ in range(2):
        before = set(threading.enumerate())
        with clock.beats.running("a", lease.renew, 20):
            (thread,) = set(threading.enumerate()) - before
            clock.beats.beat()
            assert thread.is_alive()
        clock.beats.beat()
        thread.join(30)
        assert not thread.is_alive()
