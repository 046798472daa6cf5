"""Rate limits of callers compared with counted tokens, also from several processes at once."""

import fcntl
import os
import subprocess
import sys
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foreseal._core import Buckets
from foreseal.rpc.rate import MAX_SPAN, Rate, resolve_burst

HEAD, SLOTS = 64, 64


class Counted:
    """An exact token bucket."""

    def __init__(self, interval: int, burst: int, now: int) -> None:
        self.interval, self.burst = interval, burst
        self.tokens, self.last = Fraction(burst), now

    def consume(self, now: int, cost: int) -> Fraction:
        """Return the microseconds to wait; 0 if the tokens were consumed."""
        self.tokens = min(Fraction(self.burst), self.tokens + Fraction(now - self.last, self.interval))
        self.last = now
        missing = min(cost, self.burst) - self.tokens
        if missing > 0:
            return missing * self.interval
        self.tokens = -missing
        return Fraction(0)


@given(
    st.integers(1, 50_000),
    st.integers(1, 300),
    st.lists(st.tuples(st.integers(0, 100_000), st.sampled_from("abcdefgh"), st.integers(1, 20)), max_size=100),
)
def test_bucket_matches_counted_tokens(interval: int, burst: int, calls: list[tuple[int, str, int]]) -> None:
    buckets, counted, now = Buckets(None, 8), dict[str, Counted](), 0
    for passed, caller, cost in calls:
        now += passed
        key = buckets.key(caller.encode())
        expected = counted.setdefault(caller, Counted(interval, burst, now)).consume(now, cost)
        assert buckets.wait(key, now, interval, burst, cost) == expected
        assert buckets.consume(key, now, interval, burst, cost) == expected


def shared_memory(secret: bytes = b"s" * 32, slots: int = SLOTS) -> int:
    fd = os.memfd_create("buckets")
    os.write(fd, secret)
    os.ftruncate(fd, HEAD + 8 * slots)
    return fd


TAKER = """
import sys
from foreseal._core import Buckets
buckets = Buckets(int(sys.argv[1]), 64)
sys.stdin.read(1)
taken = 0
for turn in range(20_000):
    taken += buckets.consume(buckets.key(b"%d" % (turn % 3)), 7, 10, 5_000, 1) == 0
print(taken)
"""


def test_processes_share_the_tokens_of_a_bucket() -> None:
    fd = shared_memory()
    takers = [
        subprocess.Popen(
            [sys.executable, "-c", TAKER, str(fd)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            pass_fds=[fd],
        )
        for _ in range(4)
    ]
    assert sum(int(taker.communicate("x", timeout=60)[0]) for taker in takers) == 3 * 5_000
    buckets = Buckets(fd, SLOTS)
    os.close(fd)
    assert buckets.consume(buckets.key(b"0"), 7, 10, 5_000, 1) == 10


@pytest.mark.parametrize(
    ("fd", "slots", "message"),
    [
        (None, 0, "a table of buckets has a multiple of 8 slots, at least 8, not 0"),
        (None, 9, "a table of buckets has a multiple of 8 slots, at least 8, not 9"),
        (shared_memory, 72, "the shared memory has 576 bytes, not the 640 of a table with 72 slots"),
        (lambda: shared_memory(b""), 64, "the shared memory has no secret in its first 32 bytes"),
    ],
)
def test_invalid_memory_is_rejected(fd: object, slots: int, message: str) -> None:
    given_fd = fd() if callable(fd) else None
    with pytest.raises(ValueError, match=message):
        Buckets(given_fd, slots)
    if given_fd is not None:
        fcntl.fcntl(given_fd, fcntl.F_GETFD)  # it was not closed
        os.close(given_fd)


def test_invalid_descriptor_is_rejected() -> None:
    fd = shared_memory()
    os.close(fd)
    with pytest.raises(OSError, match="cannot map the memory of the buckets"):
        Buckets(fd, SLOTS)


@pytest.mark.parametrize("rate", [Rate(1, 3600), Rate(7, 3600), Rate(1, 60)])
def test_every_burst_of_a_rate_is_valid_for_a_bucket(rate: Rate) -> None:
    most = MAX_SPAN // rate.interval
    assert Buckets(None, 8).consume(0, 0, rate.interval, resolve_burst(rate, most), 1) == 0
    with pytest.raises(ValueError, match="too large a burst"):
        resolve_burst(rate, most + 1)
    with pytest.raises(ValueError, match="a bucket cannot have"):
        Buckets(None, 8).consume(0, 0, rate.interval, most + 1, 1)


@pytest.mark.parametrize(("interval", "burst"), [(0, 1), (1, 0), (1 << 46, 2)])
def test_invalid_bucket_is_rejected(interval: int, burst: int) -> None:
    with pytest.raises(ValueError, match=f"a bucket cannot have {burst} tokens and one more every {interval} us"):
        Buckets(None, 8).consume(0, 0, interval, burst, 1)
