"""The table of malformed HTTP and WebSocket input, over both transports."""

from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest

from live import LiveNode, live_node, malformed_cases
from live.malformed_cases import HTTP, WEBSOCKET, Case
from live.raw_exchange import exchange, settled_frame_outcome, status_of
from repository import DOCS


@pytest.fixture(scope="module")
def node(transport: str) -> Iterator[LiveNode]:
    with live_node("--transport", transport, values={"access.wrong_key_burst": 1_000_000}) as node:
        yield node


def port_of(node: LiveNode) -> int:
    port = urlsplit(node.url).port
    assert port
    return port


@pytest.mark.parametrize("case", HTTP, ids=lambda case: case.name)
def test_malformed_http_matches_the_documented_table(node: LiveNode, transport: str, case: Case) -> None:
    answer = exchange(port_of(node), case.data, is_cut=case.is_cut)
    assert status_of(answer) == case.outcome(transport), answer[:300]
    if status_of(answer) != 200:
        assert b'"result"' not in answer, "it is not executed"


def test_no_incomplete_request_is_executed(node: LiveNode) -> None:
    """The bodies are complete JSON documents with observable effects."""
    account = "0x" + "5e" * 20
    body = b'{"jsonrpc":"2.0","id":1,"method":"anvil_setBalance","params":["%b","0x7"]}' % account.encode()
    chunk = b"%x\r\n%b\r\n" % (len(body), body)
    for data in (
        malformed_cases.post(b"Content-Length: %d" % (len(body) + 9), body=body),
        malformed_cases.chunks(chunk),
        malformed_cases.chunks(chunk + b"zz\r\n"),
        malformed_cases.chunks(chunk + b"0\r\n"),
        malformed_cases.chunks(chunk + b"0\r\nX\r\n\r\n"),
        malformed_cases.sized(b"Host: localhost", body=body),
    ):
        assert b'"result"' not in exchange(port_of(node), data, is_cut=True)
        assert node.rpc("eth_getBalance", account, "pending") == "0x0"
    assert b'"result"' in exchange(port_of(node), malformed_cases.sized(body=body))
    assert node.rpc("eth_getBalance", account, "pending") == "0x7"


@pytest.mark.parametrize("case", WEBSOCKET, ids=lambda case: case.name)
def test_malformed_frames_match_the_documented_table(node: LiveNode, transport: str, case: Case) -> None:
    expected = case.outcome(transport)
    outcome, answer = settled_frame_outcome(port_of(node), case, transport)
    assert outcome == expected, answer[:300]


def test_documented_table_of_granian_is_current() -> None:
    """docs/operate/transports.md lists the cases that granian decides before our code runs."""
    text = (DOCS / "operate" / "transports.md").read_text()
    for case in (*HTTP, *WEBSOCKET):
        if case.proxy:
            assert f"| {case.name} |" in text, case.name
