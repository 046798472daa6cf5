"""Addresses to listen on."""

import pytest

from foreseal.server.sockets.address import format_url, parse_address


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("127.0.0.1:8546", ("127.0.0.1", 8546)),
        (" localhost:0 ", ("localhost", 0)),
        ("[::1]:65535", ("::1", 65535)),
    ],
)
def test_an_address_is_host_and_port(text: str, address: tuple[str, int]) -> None:
    assert parse_address(text) == address


@pytest.mark.parametrize(
    "text", ["", "8546", ":8546", "localhost", "localhost:", "::1:8546", "a:b", "a:65536", "a:-1", "a:٢", "a/b:1"]
)
def test_invalid_address_is_named(text: str) -> None:
    with pytest.raises(ValueError, match="is not an address: write HOST:PORT"):
        parse_address(text)


def test_url_of_a_wildcard_address_is_reachable_locally() -> None:
    assert format_url("0.0.0.0", 1) == "http://127.0.0.1:1"
    assert format_url("::", 2) == "http://[::1]:2"
    assert format_url("10.0.0.5", 3) == "http://10.0.0.5:3"
