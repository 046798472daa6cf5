"""Values of a policy: invalid ones are rejected with the name of the argument."""

from typing import Any

import pytest

from foreseal.payments.ledger import Ledger
from foreseal.payments.x402.buyer import Asset, Buyer, Caps, PurchaseRejected, Purchases, SpendingPolicy
from payments.shop import BUYER
from payments.x402.buyers import USDC, policy
from payments.x402.seller_double import NETWORK, PAYEE, TOKEN, terms


@pytest.mark.parametrize(
    ("network", "token", "name"),
    [
        ("base", TOKEN, "network: 'base'"),
        ("eip155:0", TOKEN, "network: 'eip155:0'"),
        ("eip155:*", TOKEN, r"network: 'eip155:\*'"),
        ("eip155:84532\n", TOKEN, "network"),
        (84532, TOKEN, "network: 84532"),
        (NETWORK, "usdc", "token: 'usdc'"),
        (NETWORK, TOKEN.swapcase().replace("0X", "0x"), "token: .* checksum"),
    ],
)
def test_an_asset_is_a_token_on_a_network(network: Any, token: str, name: str) -> None:
    with pytest.raises(ValueError, match=name):
        Asset(network, token)


@pytest.mark.parametrize("name", ["per_request", "per_session", "per_day", "per_deposit"])
@pytest.mark.parametrize("amount", [1.5, -1, "1", True, 2**256])
def test_caps_are_units(name: str, amount: Any) -> None:
    with pytest.raises((TypeError, ValueError), match=name):
        Caps(**({"per_request": 1, "per_session": 1, "per_day": 1} | {name: amount}))


@pytest.mark.parametrize(
    ("other", "name"),
    [
        ({"schemes": frozenset({"exact", "cash"})}, "schemes: cash"),
        ({"schemes": "exact"}, "schemes"),
        ({"payees": frozenset({"alice"})}, "payees: 'alice'"),
        ({"payees": PAYEE}, "payees: must be a set"),
        ({"hosts": "example.com"}, "hosts: must be a set"),
        ({"hosts": frozenset({"https://example.com"})}, "hosts: 'https://example.com'"),
        ({"hosts": frozenset({"example.com/path"})}, "hosts"),
        ({"hosts": frozenset({"me@example.com"})}, "hosts"),
        ({"hosts": frozenset({"example.com:0"})}, "hosts"),
        ({"hosts": frozenset({"example.com:99999"})}, "hosts"),
        ({"hosts": frozenset({""})}, "hosts"),
        ({"longest_validity": 0}, "longest_validity"),
        ({"longest_validity": 1.5}, "longest_validity"),
    ],
)
def test_invalid_policy_names_its_error(other: dict[str, Any], name: str) -> None:
    with pytest.raises((TypeError, ValueError), match=name):
        policy(**other)


@pytest.mark.parametrize(
    ("listed", "url", "allowed"),
    [
        ("example.com", "https://example.com/", True),
        ("example.com", "http://EXAMPLE.com:8080/a?b", True),
        ("example.com", "https://example.com./", True),
        ("example.com", "https://www.example.com/", False),
        ("example.com", "https://example.com.evil.net/", False),
        ("example.com", "https://evil.net/?example.com", False),
        ("example.com", "https://example.com@evil.net/", False),
        ("example.com:443", "https://example.com/", True),
        ("example.com:443", "https://example.com:444/", False),
        ("example.com:443", "http://example.com/", False),
        ("[::1]:80", "http://[::1]/", True),
        ("[::1]", "http://[::2]/", False),
    ],
)
def test_host_is_compared_exactly(listed: str, url: str, allowed: bool) -> None:
    rules = policy(hosts=frozenset({listed}))
    if allowed:
        rules.check_host(url, None)
        return
    with pytest.raises(PurchaseRejected, match=r"^host: .* is not on the list"):
        rules.check_host(url, None)


@pytest.mark.parametrize("amount", ["", "1.5", "-1", "1e3", " 1", "0x10", "\u0661", "1" * 79])
def test_invalid_amount_is_rejected(amount: str) -> None:
    [refusal] = policy().offers([terms(amount)])
    assert str(refusal).startswith("amount: ")


@pytest.mark.parametrize("seconds", [0, -1, 3601])
def test_signature_validity_is_limited(seconds: int) -> None:
    [refusal] = policy().offers([terms(max_timeout_seconds=seconds)])
    assert str(refusal) == f"validity: the seller requests a signature valid for {seconds} s, the maximum is 3600"


def test_asset_address_is_case_insensitive() -> None:
    [offer] = SpendingPolicy({USDC: Caps(1000, 1000, 1000)}).offers([terms(asset=TOKEN.lower(), pay_to=PAYEE.lower())])
    assert (offer.asset, offer.payee) == (USDC, PAYEE)  # type: ignore[union-attr]


def test_invalid_payee_address_is_rejected() -> None:
    [refusal] = policy().offers([terms(pay_to="alice")])
    assert str(refusal) == "payee: alice is not on the list"


@pytest.mark.parametrize("session", ["", "a" * 201])
def test_session_requires_a_name(session: str) -> None:
    with pytest.raises(ValueError, match=r"session: must have 1 to 200 characters, got (0|201)"):
        Buyer(BUYER, policy(), Purchases(Ledger(None, lambda: 0)), session)  # type: ignore[arg-type]
