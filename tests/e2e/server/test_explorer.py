"""Serving of the explorer: which listener has it, under which policy, and who may connect to it."""

import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from command import foreseal
from live import LiveNode, Rpc, live_node, wait_for
from live.blocks import wait_for_block
from live.raw_exchange import connect, status_of
from workers.node import workers_node

FILE = "/explorer/static/lib/rpc.js"
_EXPLORER = re.compile(r"explorer at (http://[^/\s]+)/explorer")


@pytest.fixture(scope="module")
def chain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the data directory of a chain, for `foreseal run`."""
    folder = tmp_path_factory.mktemp("chain")
    with live_node("--datadir", str(folder)) as node:
        wait_for_block(node.rpc, 1)
    return folder


def own_listener(node: LiveNode) -> Rpc:
    match = wait_for(lambda: _EXPLORER.search(node.printed), 10, "URL of the explorer")
    return Rpc(match[1])


def upgrade(node: LiveNode, host: str, origin: str) -> int:
    """Return the status of the response to a WebSocket handshake of a page."""
    lines = ["GET / HTTP/1.1", f"Host: {host}", f"Origin: {origin}", "Connection: Upgrade", "Upgrade: websocket"]
    lines += ["Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==", "", ""]
    with connect(urlsplit(node.url).port or 0) as line:
        line.sendall("\r\n".join(lines).encode())
        return status_of(line.recv(4096))


@pytest.fixture(scope="module")
def each(transport: str) -> Iterator[LiveNode]:
    with live_node("--transport", transport) as node:
        yield node


def test_development_node_serves_the_explorer(each: LiveNode) -> None:
    document = each.rpc.request("GET", "/explorer")
    assert document.status == 200
    assert document.headers["content-type"] == "text/html; charset=utf-8"
    assert "frame-ancestors 'none'" in document.headers["content-security-policy"]
    assert each.rpc.request("GET", "/explorer/block/1").body == document.body
    assert f"{each.url}/explorer" in each.printed


def test_file_has_a_validator_and_is_compressed(each: LiveNode) -> None:
    whole = each.rpc.request("GET", FILE)
    small = each.rpc.request("GET", FILE, headers={"Accept-Encoding": "gzip"})
    assert (whole.status, small.status, small.headers["content-encoding"]) == (200, 200, "gzip")
    assert len(small.body) < len(whole.body)
    again = each.rpc.request("GET", FILE, headers={"If-None-Match": whole.headers["etag"]})
    assert (again.status, again.body) == (304, b"")
    # The connection is still in step.
    assert each.rpc("eth_chainId") == "0x7a69"


def test_head_request_has_no_body(each: LiveNode) -> None:
    answer = each.rpc.request("HEAD", FILE)
    assert (answer.status, answer.body) == (200, b"")
    assert each.rpc("eth_chainId") == "0x7a69"


def test_node_without_the_option_has_no_explorer(chain: Path) -> None:
    with live_node("--datadir", str(chain), command="run") as node:
        assert node.rpc.request("GET", "/explorer").status == 404
        host = urlsplit(node.url).netloc
        assert upgrade(node, host, f"http://{host}") == 403


def test_own_page_may_open_a_websocket_and_others_may_not(chain: Path) -> None:
    with live_node("--datadir", str(chain), "--explorer", command="run") as node:
        assert node.rpc.request("GET", "/explorer").status == 200
        # Behind a proxy that ends TLS, the origin of the page has another scheme.
        for origin in ("http://node.example:8545", "https://node.example:8545"):
            assert upgrade(node, "node.example:8545", origin) == 101
        for origin in ("http://other.example", "http://node.example", "null", "http://node.example:8545.other"):
            assert upgrade(node, "node.example:8545", origin) == 403


def test_explorer_has_a_listener_of_its_own(chain: Path) -> None:
    with live_node("--datadir", str(chain), "--explorer-listen", "127.0.0.1:0", command="run") as node:
        own = own_listener(node)
        assert own.request("GET", "/explorer").status == 200
        assert node.rpc.request("GET", "/explorer").status == 404
        assert own("eth_chainId") == node.rpc("eth_chainId")
        assert own.request("GET", "/readyz").status == 200
        own.close()


def test_workers_share_the_listener_of_the_explorer(tmp_path: Path) -> None:
    with workers_node(tmp_path / "data", 2, "--explorer-listen", "127.0.0.1:0") as node:
        own = own_listener(node.live)
        assert own.request("GET", "/explorer").status == 200
        assert own("eth_chainId") == node.rpc()("eth_chainId")
        assert node.rpc().request("GET", "/explorer").status == 404
        own.close()


def test_listener_without_the_explorer_is_an_error(chain: Path) -> None:
    ended = foreseal("run", "--datadir", str(chain), "--no-explorer", "--explorer-listen", "127.0.0.1:0")
    assert ended.returncode == 2
    assert "explorer_listen needs the explorer" in ended.stderr
