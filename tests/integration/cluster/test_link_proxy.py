"""Links lose nothing while they are cut, cut each direction alone, and drop connections when they are reset."""

import contextlib
import socket
import threading
import time
from collections.abc import Iterator

import pytest

from link_proxy import LinkProxies, LinkState


@pytest.fixture
def echo() -> Iterator[int]:
    """Run a server that returns each message, and yield its port."""

    def answer(connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError):
            while data := connection.recv(65536):
                connection.sendall(data)

    def serve() -> None:
        with contextlib.suppress(OSError):
            while True:
                threading.Thread(target=answer, args=(listener.accept()[0],), daemon=True).start()

    listener = socket.create_server(("127.0.0.1", 0))
    threading.Thread(target=serve, daemon=True).start()
    yield listener.getsockname()[1]
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()


@pytest.fixture
def links() -> Iterator[LinkProxies]:
    """Run the process of the links."""
    proxies = LinkProxies()
    yield proxies
    proxies.close()


def exchange(connection: socket.socket, data: bytes) -> bytes:
    connection.sendall(data)
    return connection.recv(65536)


def test_healed_link_delivers_bytes_late(links: LinkProxies, echo: int) -> None:
    with socket.create_connection(("127.0.0.1", links.add("a", echo)), 10) as connection:
        assert exchange(connection, b"1") == b"1"
        for state in (LinkState(forward=False), LinkState(backward=False)):
            links.set_state(["a"], state)
            connection.settimeout(0.2)
            with pytest.raises(TimeoutError):
                exchange(connection, b"2")
            links.heal()
            connection.settimeout(10)
            assert connection.recv(10) == b"2"


def test_new_connection_waits_while_the_link_is_cut(links: LinkProxies, echo: int) -> None:
    port = links.add("a", echo)
    links.set_state(["a"], LinkState(forward=False, backward=False))
    with socket.create_connection(("127.0.0.1", port), 10) as connection:
        connection.settimeout(0.2)
        with pytest.raises(TimeoutError):
            exchange(connection, b"1")
        links.heal()
        connection.settimeout(10)
        assert connection.recv(10) == b"1"


def test_reset_link_closes_connections_and_accepts_new_ones(links: LinkProxies, echo: int) -> None:
    port = links.add("a", echo)
    with socket.create_connection(("127.0.0.1", port), 10) as connection:
        assert exchange(connection, b"1") == b"1"
        links.set_state(["a"], LinkState(backward=False))
        links.heal(reset=True)
        with contextlib.suppress(ConnectionResetError):
            assert connection.recv(1) == b""
    with socket.create_connection(("127.0.0.1", port), 10) as connection:
        assert exchange(connection, b"2") == b"2"


def test_delay_applies_to_both_directions(links: LinkProxies, echo: int) -> None:
    with socket.create_connection(("127.0.0.1", links.add("a", echo)), 10) as connection:
        assert exchange(connection, b"1") == b"1"
        links.set_state(["a"], LinkState(delay_ms=100))
        begun = time.monotonic()
        assert exchange(connection, b"2") == b"2"
        assert time.monotonic() - begun >= 0.2


def test_links_without_fault_forward_much_data(links: LinkProxies, echo: int) -> None:
    with socket.create_connection(("127.0.0.1", links.add("a", echo)), 10) as connection:
        data = bytes(range(256)) * 40_000
        sender = threading.Thread(target=connection.sendall, args=(data,))
        sender.start()
        received = bytearray()
        while len(received) < len(data):
            received += connection.recv(65536)
        sender.join()
        assert bytes(received) == data
