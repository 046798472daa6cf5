"""Section `[checkout]` of `pay.toml`."""

from pathlib import Path

import pytest

from foreseal.payments.configuration import CheckoutSection, ConfigurationError, read
from payments.small_configuration import SMALL

REQUIRED = {"public_url": '"https://pay.shop.example"', "merchant_name": '"Book shop"'}


def section(tmp_path: Path, **values: str) -> CheckoutSection:
    """Return the section with these values in TOML."""
    path = tmp_path / "pay.toml"
    lines = [f"{name} = {value}" for name, value in (REQUIRED | values).items() if value]
    path.write_text("\n".join([SMALL, "[checkout]", *lines]))
    checkout = read(path).checkout
    assert checkout is not None
    return checkout


def problem(tmp_path: Path, **values: str) -> str:
    with pytest.raises(ConfigurationError) as error:
        section(tmp_path, **values)
    (message,) = error.value.problems
    return message.removeprefix(f"{tmp_path / 'pay.toml'}: ")


def test_section_with_required_values_only(tmp_path: Path) -> None:
    checkout = section(tmp_path)
    assert (checkout.public_url, checkout.public_origin) == ("https://pay.shop.example",) * 2
    assert (checkout.origins, checkout.trusted_proxies, checkout.pretend_wallet) == ((), (), False)


@pytest.mark.parametrize(
    ("text", "url", "origin"),
    [
        ("https://pay.shop.example/", "https://pay.shop.example", "https://pay.shop.example"),
        ("https://pay.shop.example:443/books", "https://pay.shop.example/books", "https://pay.shop.example"),
        ("http://127.0.0.1:8600", "http://127.0.0.1:8600", "http://127.0.0.1:8600"),
        ("http://[::1]:80/a/b", "http://[::1]/a/b", "http://[::1]"),
    ],
)
def test_public_url_has_the_form_of_browsers(tmp_path: Path, text: str, url: str, origin: str) -> None:
    checkout = section(tmp_path, public_url=f'"{text}"')
    assert (checkout.public_url, checkout.public_origin) == (url, origin)


@pytest.mark.parametrize(
    "url",
    [
        "",
        "pay.shop.example",
        "ftp://pay.shop.example",
        "HTTPS://pay.shop.example",
        "https://",
        "https://user@pay.shop.example",
        "https://pay.shop.example?a=1",
        "https://pay.shop.example#a",
        "https://pay.shop.example/a b",
        "https://pay.shop.example//books",
        "https://pay.shop.example:0",
        "javascript:alert(1)",
        "https://pay.shop.example\\n.evil.example",
    ],
)
def test_invalid_public_url_is_named(tmp_path: Path, url: str) -> None:
    for name in ("public_url", "rpc_url", "explorer_url"):
        message = problem(tmp_path, **{name: f'"{url}"'})
        assert message.startswith(f"checkout.{name}: "), message
        assert "is not a URL" in message


def test_origins_are_those_that_browsers_send_without_repetition(tmp_path: Path) -> None:
    checkout = section(
        tmp_path, origins='["HTTPS://Shop.Example:443", "https://shop.example", "http://a.example:8080"]'
    )
    assert checkout.origins == ("https://shop.example", "http://a.example:8080")


@pytest.mark.parametrize("origin", ["*", "null", "https://shop.example/", "https://*.shop.example", "shop.example", ""])
def test_invalid_origin_is_named(tmp_path: Path, origin: str) -> None:
    message = problem(tmp_path, origins=f'["{origin}"]')
    assert message.startswith("checkout.origins: ")
    assert "is not an origin" in message


def test_origins_are_bounded_and_a_list(tmp_path: Path) -> None:
    many = ", ".join(f'"https://s{number}.example"' for number in range(51))
    assert problem(tmp_path, origins=f"[{many}]") == "checkout.origins: must have at most 50 origins"
    assert problem(tmp_path, origins='"https://shop.example"').startswith("checkout.origins: ")
    assert problem(tmp_path, origins="[1]").startswith("checkout.origins")


@pytest.mark.parametrize("name", ["merchant_name", "network_name"])
def test_shown_names_are_bounded(tmp_path: Path, name: str) -> None:
    for text in ("", "  ", "x" * 81):
        assert problem(tmp_path, **{name: f'"{text}"'}) == f"checkout.{name}: must have 1 to 80 characters"
    assert getattr(section(tmp_path, **{name: f'"{"x" * 80}"'}), name) == "x" * 80


def test_pretend_wallet_needs_a_public_url_without_tls(tmp_path: Path) -> None:
    assert "pretend_wallet has public keys" in problem(tmp_path, pretend_wallet="true")
    checkout = section(tmp_path, pretend_wallet="true", public_url='"http://127.0.0.1:8600"')
    assert checkout.pretend_wallet


@pytest.mark.parametrize("missing", REQUIRED)
def test_missing_and_unknown_keys_are_named(tmp_path: Path, missing: str) -> None:
    assert problem(tmp_path, **{missing: ""}).startswith(f"checkout.{missing}: ")
    assert problem(tmp_path, secret='"a"').startswith("checkout.secret: ")


def test_trusted_proxies_are_networks(tmp_path: Path) -> None:
    checkout = section(tmp_path, trusted_proxies='["10.0.0.0/8", "fd00::1"]')
    assert [str(each) for each in checkout.trusted_proxies] == ["10.0.0.0/8", "fd00::1/128"]
    assert problem(tmp_path, trusted_proxies='["proxy.example"]').startswith("checkout.trusted_proxies: ")
