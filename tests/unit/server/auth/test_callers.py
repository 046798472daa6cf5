"""Addresses of callers: grouping, and trust in forwarded addresses."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foreseal._core import Buckets
from foreseal.rpc import Dispatcher, Limits, Registry
from foreseal.rpc.rate import Rate
from foreseal.server.auth.callers import Callers, Schedule, WrongKey
from foreseal.server.auth.keys import KeyStore
from foreseal.server.auth.tiers import CallerTier

from access_doubles import NOW, Clock, FakeCaller, KeyRing
from fake_core import FakeNode


@pytest.fixture
def tiers() -> dict[str, CallerTier]:
    return made_tiers()


def made_tiers() -> dict[str, CallerTier]:
    limits = Limits()
    dispatcher = Dispatcher(FakeNode(), limits, Registry())
    return {
        "public": CallerTier("public", limits, dispatcher, Rate(1), 1),
        "dedicated": CallerTier("dedicated", limits, dispatcher),
    }


def callers(
    tiers: dict[str, CallerTier],
    *proxies: str,
    public: bool = True,
    schedule: Schedule | None = None,
    cache_size: int = 4096,
) -> Callers:
    keys = KeyStore(Path("no such folder/keys.json"), lambda: 0.0)
    options = {"public": public, "cache_size": cache_size}
    return Callers(tiers, keys, Buckets(None, 64), Clock(), schedule, proxies=frozenset(proxies), **options)


@pytest.mark.parametrize(
    ("peer", "address"),
    [
        ("203.0.113.9", "203.0.113.9"),
        ("::ffff:203.0.113.9", "203.0.113.9"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:db8:1:2:ffff::", "2001:db8:1:2::/64"),
        ("2001:db8:1:3::", "2001:db8:1:3::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("", ""),
        ("/run/foreseal.sock", ""),
    ],
)
def test_addresses_of_one_network_are_one_caller(tiers: dict[str, CallerTier], peer: str, address: str) -> None:
    assert callers(tiers).identify((peer, 5), {}).address == address


def test_callers_without_a_peer_address_are_one_caller(tiers: dict[str, CallerTier]) -> None:
    assert callers(tiers).identify(None, {}).address == ""


@pytest.mark.parametrize(
    ("proxies", "peer", "forwarded", "address"),
    [
        ((), "10.0.0.1", "198.51.100.7", "10.0.0.1"),
        (("10.0.0.0/8",), "10.0.0.1", "198.51.100.7", "198.51.100.7"),
        (("10.0.0.0/8",), "203.0.113.9", "198.51.100.7", "203.0.113.9"),
        (("10.0.0.0/8",), "10.0.0.1", "1.1.1.1, 198.51.100.7", "198.51.100.7"),
        (("10.0.0.0/8",), "10.0.0.1", "1.1.1.1, 198.51.100.7, 10.3.2.1", "198.51.100.7"),
        (("10.0.0.0/8",), "10.0.0.1", "10.1.1.1, 10.3.2.1", "10.1.1.1"),
        (("10.0.0.0/8",), "10.0.0.1", "", "10.0.0.1"),
        (("10.0.0.0/8",), "10.0.0.1", "198.51.100.7,", "10.0.0.1"),
        (("10.0.0.0/8",), "10.0.0.1", "anything", ""),
        (("10.0.0.0/8",), "10.0.0.1", "198.51.100.7:4711", "198.51.100.7"),
        (("10.0.0.0/8",), "10.0.0.1", "[2001:db8::5]:4711", "2001:db8::/64"),
        (("10.0.0.7/32", "fd00::/8"), "fd00::1", "198.51.100.7, 10.0.0.7", "198.51.100.7"),
        (("10.0.0.7/32",), "::ffff:10.0.0.7", "198.51.100.7", "198.51.100.7"),
    ],
)
def test_trusted_proxy_forwards_the_client_address(
    tiers: dict[str, CallerTier], proxies: tuple[str, ...], peer: str, forwarded: str, address: str
) -> None:
    headers = {b"x-forwarded-for": forwarded.encode()}
    assert callers(tiers, *proxies).identify((peer, 5), headers).address == address


@given(
    st.text(),
    st.dictionaries(st.sampled_from([b"authorization", b"x-api-key", b"x-forwarded-for"]), st.binary()),
    st.booleans(),
)
def test_random_headers_and_addresses_raise_only_wrong_key(
    peer: str, headers: dict[bytes, bytes], bearer: bool
) -> None:
    if bearer and b"authorization" in headers:
        headers[b"authorization"] = b"Bearer " + headers[b"authorization"]
    subject = callers(made_tiers(), "10.0.0.0/8", "::/0")
    if not {b"authorization", b"x-api-key"}.isdisjoint(headers):
        with pytest.raises(WrongKey, match="API key"):
            subject.identify((peer, 1), headers)
    else:
        caller = subject.identify((peer, 1), headers)
        assert (caller.key, caller.tier.name) == (None, "public")


def test_callers_without_limits_are_unrestricted_and_scheduled_by_address(tiers: dict[str, CallerTier]) -> None:
    subject = callers(tiers, public=False)
    first, same, other = (subject.identify((host, 5), {}) for host in ("203.0.113.9", "203.0.113.9", "203.0.113.8"))
    assert first is same
    assert first.limiter is not other.limiter
    assert first.limiter is not None
    assert first.limiter.max_calls is None


def test_scheduler_caller_is_created_once_with_its_tier_limits(tiers: dict[str, CallerTier]) -> None:
    made: list[tuple[Any, ...]] = []

    def schedule(*given: Any) -> FakeCaller:
        made.append(given)
        return FakeCaller()

    public = replace(tiers["public"], cpu=250, cpu_burst=2000)
    subject = callers({**tiers, "public": public}, schedule=schedule)
    callers_found = [subject.identify((host, 5), {}) for host in ("203.0.113.9", "203.0.113.9", "2001:db8::1")]
    assert made == [
        (b"a203.0.113.9", False, 250, 2000, (1_000_000, 1), None),
        (b"a2001:db8::/64", False, 250, 2000, (1_000_000, 1), None),
    ]
    assert callers_found[0].limiter is callers_found[1].limiter


def test_evicted_caller_in_use_keeps_one_rate_limiter(tiers: dict[str, CallerTier]) -> None:
    subject = callers(tiers, cache_size=2)
    used = subject.identify(("203.0.113.9", 5), {}).limiter
    assert used is not None
    assert subject.identify(("203.0.113.9", 6), {}).limiter is used
    for number in range(10):
        assert subject.identify((f"203.0.113.{100 + number}", 5), {}).limiter is not used
    assert subject.identify(("203.0.113.9", 7), {}).limiter is used
    cache = subject.caches["addresses"]
    assert (len(cache), cache.misses, cache.evicted) == (2, 12, 10)


def test_overlong_forwarded_address_is_unreadable(tiers: dict[str, CallerTier]) -> None:
    subject = callers(tiers, "192.0.2.7/32")
    for number in range(3):
        headers = {b"x-forwarded-for": b"%d" % number * 60_000}
        assert subject.identify(("192.0.2.7", 5), headers).address == ""
    assert list(subject.caches["addresses"]) == [""]


def test_changed_rate_of_a_key_takes_effect(tiers: dict[str, CallerTier], tmp_path: Path) -> None:
    ring = KeyRing(tmp_path)
    text = ring.add("shop", rate=Rate(5), burst=1)
    (key,) = ring.keys.values()
    keys = KeyStore(ring.path, lambda: float(NOW))
    subject = Callers(tiers, keys, Buckets(None, 64), Clock(), public=True)

    def refused(times: int) -> list[bool]:
        limiter = subject.identify(None, {b"x-api-key": text.encode()}).limiter
        assert limiter is not None
        return [limiter.charge_call("eth_blockNumber") is not None for _ in range(times)]

    assert refused(2) == [False, True]
    ring.keys[key.id] = replace(key, rate=Rate(0), burst=None)
    ring.save()
    keys.reload_if_changed()
    assert refused(3) == [False] * 3
