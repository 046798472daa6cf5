"""Addresses to listen on."""

import socket

import pytest

from foreseal.server.address import AddressError, free_address, parse_address, url


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
    "text", ["", "8546", ":8546", "localhost", "localhost:", "::1:8546", "a:b", "a:65536", "a:-1", "a:٢"]
)
def test_what_is_no_address_is_named(text: str) -> None:
    with pytest.raises(ValueError, match="is no address: write HOST:PORT"):
        parse_address(text)


def test_a_port_that_somebody_listens_on_is_refused() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(AddressError, match=f"cannot listen on 127.0.0.1:{port}"):
            free_address("127.0.0.1", port)
    assert free_address("127.0.0.1", 0)[1] > 0


def test_urls_can_be_reached_from_this_machine() -> None:
    assert url("0.0.0.0", 1) == "http://127.0.0.1:1"
    assert url("::", 2) == "http://[::1]:2"
    assert url("10.0.0.5", 3) == "http://10.0.0.5:3"
