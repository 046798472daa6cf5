"""Limits of shoppers, and the address that a shopper counts as."""

import pytest

from foreseal.payments.api.checkout.limits import ADDRESS_RATE, ShopperLimits, client_address
from foreseal.payments.api.errors import ApiError
from foreseal.payments.api.request_rates import RequestRate
from foreseal.payments.configuration.webhook_targets import parse_networks

PROXIES = parse_networks(["10.0.0.0/8", "fd00::/8"])
PROXY, SHOPPER = "10.0.0.1", "203.0.113.9"


def code(error: pytest.ExceptionInfo[ApiError]) -> int:
    return error.value.status


@pytest.mark.parametrize(
    ("peer", "forwarded", "expected"),
    [
        # Without a trusted proxy, the header is the shopper's own.
        (SHOPPER, [], SHOPPER),
        (SHOPPER, ["198.51.100.1"], SHOPPER),
        (SHOPPER, [PROXY], SHOPPER),
        # A trusted proxy appends the address that it sees.
        (PROXY, [SHOPPER], SHOPPER),
        (PROXY, [f"198.51.100.1, {SHOPPER}"], SHOPPER),
        (PROXY, ["198.51.100.1", SHOPPER], SHOPPER),
        (PROXY, [f"198.51.100.1,{SHOPPER},10.2.3.4"], SHOPPER),
        (PROXY, [f"{SHOPPER}, 10.2.3.4", "10.5.6.7"], SHOPPER),
        # A shopper that claims to be a proxy does not choose an address.
        (PROXY, [f"10.9.9.9, {SHOPPER}"], SHOPPER),
        # Only proxies: the most distant one.
        (PROXY, [], PROXY),
        (PROXY, ["10.2.3.4, 10.5.6.7"], "10.2.3.4"),
        # Forms of an address.
        (PROXY, [f"{SHOPPER}:4711"], SHOPPER),
        (PROXY, [f"  {SHOPPER}  "], SHOPPER),
        (f"::ffff:{PROXY}", [f"::ffff:{SHOPPER}"], SHOPPER),
        ("fd00::1", ["[2001:db8:1:2:3:4:5:6]:443"], "2001:db8:1:2::/64"),
        ("2001:db8:1:2::a", [], "2001:db8:1:2::/64"),
        ("2001:db8:1:2:ffff::b", [], "2001:db8:1:2::/64"),
        # All other texts are one address.
        ("", [], ""),
        (PROXY, ["unknown"], ""),
        (PROXY, [""], ""),
        (PROXY, [f"{SHOPPER}, _hidden"], ""),
        (PROXY, ["1" * 10_000], ""),
        (PROXY, ["[" * 50], ""),
    ],
)
def test_address_is_the_rightmost_that_no_trusted_proxy_has(peer: str, forwarded: list[str], expected: str) -> None:
    assert client_address(peer, forwarded, PROXIES) == expected


def test_header_is_ignored_without_trusted_proxies() -> None:
    assert client_address(PROXY, [SHOPPER], ()) == PROXY


def test_rate_of_one_name_leaves_others() -> None:
    now = 0.0
    limits, rate = ShopperLimits(lambda: now), RequestRate("test", 2.0, 3)
    for _ in range(3):
        limits.charge(rate, "a")
    with pytest.raises(ApiError) as error:
        limits.charge(rate, "a")
    assert (code(error), error.value.headers["Retry-After"]) == (429, "2")
    limits.charge(rate, "b")
    limits.charge(ADDRESS_RATE, "a")
    now = 2.0
    limits.charge(rate, "a")


def test_requests_in_progress_are_limited_by_address_and_in_total(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ShopperLimits, "MAX_ADDRESS_REQUESTS", 1)
    monkeypatch.setattr(ShopperLimits, "MAX_REQUESTS", 2)
    limits = ShopperLimits()
    with limits.request("a"):
        with pytest.raises(ApiError) as error, limits.request("a"):
            pass
        assert code(error) == 429
        with limits.request("b"):
            with pytest.raises(ApiError) as error, limits.request("c"):
                pass
            assert code(error) == 503
        with limits.request("c"):
            pass
    with limits.request("a"):
        pass


def test_waits_are_limited_by_order_and_in_total(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ShopperLimits, "MAX_ORDER_WAITS", 1)
    monkeypatch.setattr(ShopperLimits, "MAX_WAITS", 2)
    limits = ShopperLimits()
    with limits.wait("a", "1"), limits.wait("b", "2"):
        for id in ("a", "c"):
            with pytest.raises(ApiError) as error, limits.wait(id, "3"):
                pass
            assert code(error) == 429
    with limits.wait("c", "3"):
        pass


def test_waits_of_an_address_are_limited_over_all_orders(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ShopperLimits, "MAX_ADDRESS_WAITS", 1)
    limits = ShopperLimits()
    with limits.wait("a", "1"):
        with pytest.raises(ApiError) as error, limits.wait("b", "1"):
            pass
        assert code(error) == 429
        with limits.wait("b", "2"):
            pass
    with limits.wait("b", "1"):
        pass


def test_requests_of_an_address_that_wait_for_the_node_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ShopperLimits, "MAX_ADDRESS_NODE_CALLS", 1)
    limits = ShopperLimits()
    with limits.node_call("1"):
        with pytest.raises(ApiError) as error, limits.node_call("1"):
            pass
        assert code(error) == 429
        with limits.node_call("2"):
            pass


def test_signature_in_progress_ends_with_an_error_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ShopperLimits, "MAX_SIGNATURES", 1)
    limits = ShopperLimits()
    with limits.signature(), pytest.raises(ApiError) as error, limits.signature():
        pass
    assert code(error) == 503
    with pytest.raises(RuntimeError, match="defect"), limits.signature():
        raise RuntimeError("defect")
    with limits.signature():
        pass
