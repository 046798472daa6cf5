"""`foreseal db repair --from`: blocks missing from the journal come from another node."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any

import orjson
import pytest

from command import foreseal
from damage import chain
from foreseal._core import Node, SteppedNode, db_verify
from foreseal.cli.recovery_source import MAX_RATE_WAITS, RecoverySource, read_key
from foreseal.errors import NodeError
from http_thread import QuietHandler, running_server
from live.process import live_node
from live_node import wait_until

PAGE = 4096
SEGMENT = 64 << 20
INPUT = b"\xab" * 100_000
SENDER = 1
IDENTITY = {"eth_chainId": "0x7a69", "eth_blockNumber": "0x1"}


def settings(datadir: Path, **changes: Any) -> bytes:
    """Return settings of a chain whose journal retains nothing that the store has."""
    store = {"recent": 1, "scrub_rate": 0, "retention": 0}
    return chain.settings(datadir, store=store, **changes)


def make(datadir: Path) -> None:
    """Make a chain whose journal begins after block 1, with all of it stored."""
    driver = chain.Driver.__new__(chain.Driver)
    driver.node = SteppedNode(settings(datadir), chain.TIME)
    sent = 0
    while len(list((datadir / "journal").iterdir())) < 2 or sent < SEGMENT + (4 << 20):
        for _ in range(5):
            driver.send(SENDER, to=f"0x{sent:040x}", data="0x" + INPUT.hex())
            sent += len(INPUT)
        driver.node.seal()
    driver.close()
    node = Node(settings(datadir, produce=False))
    node.start()
    wait_until(lambda: node.ready()[0])
    node.stop()


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Provide a chain without a running node."""
    made = tmp_path_factory.mktemp("original") / "chain"
    make(made)
    yield made
    shutil.rmtree(made)


@pytest.fixture
def datadir(original: Path) -> Iterator[Path]:
    """Provide a copy of the original whose store is unreadable."""
    copied = chain.copy(original)
    data = copied / "store" / "data.mdb"
    with data.open("r+b") as file:
        file.write(b"\0" * 4 * PAGE)
    yield copied
    shutil.rmtree(copied)


@pytest.fixture(scope="module")
def other(original: Path) -> Iterator[str]:
    """Provide the URL of another node with the same chain."""
    copied = chain.copy(original)
    with live_node("--datadir", str(copied), "--no-produce", command="run") as node:
        yield node.url
    shutil.rmtree(copied)


@contextmanager
def answering(answers: dict[str, Any], refusals: int = 0, headers: list[Any] | None = None) -> Iterator[str]:
    """Serve fixed results by method on a free port, after this many rejections.

    `headers` receives the headers of each request.
    """
    left = iter(range(refusals))

    class Handler(QuietHandler):
        def do_POST(self) -> None:
            request = orjson.loads(self.read_body())
            body = orjson.dumps({"jsonrpc": "2.0", "id": 1, "result": answers.get(request["method"])})
            if headers is not None:
                headers.append(self.headers)
            self.respond(200 if next(left, None) is None else 429, body, retry_after="0")

    with running_server(ThreadingHTTPServer(("127.0.0.1", 0), Handler)) as url:
        yield url


def faults(datadir: Path) -> list[dict[str, str]]:
    entries: list[dict[str, str]] = orjson.loads(db_verify(str(datadir), lambda *_: None, None))["faults"]
    return entries


def assert_unchanged(datadir: Path, original: Path) -> None:
    """Assert that the damaged store is unchanged, and that the repair left no files."""
    store = (datadir / "store" / "data.mdb").read_bytes()
    assert store == b"\0" * 4 * PAGE + (original / "store" / "data.mdb").read_bytes()[4 * PAGE :]
    assert not list(datadir.glob("store.*"))


def test_another_node_is_needed_and_then_named(datadir: Path, original: Path, other: str) -> None:
    alone = foreseal("db", "repair", datadir, "--yes")
    assert alone.returncode == 1
    assert "pass a backup with --backup or another node with --from" in alone.stderr
    unsure = foreseal("db", "repair", datadir, "--from", other, input="n\n")
    assert unsure.returncode == 130
    assert "the repair will fetch " in unsure.stdout
    assert f", from {other}, execute and verify them, and replay the journal from there to block " in unsure.stdout
    assert_unchanged(datadir, original)


def test_a_store_is_rebuilt_from_another_node(datadir: Path, original: Path, other: str) -> None:
    repaired = foreseal("db", "repair", datadir, "--from", other, "--yes")
    assert repaired.returncode == 0, repaired.stderr
    assert "repaired and verified the store" in repaired.stdout
    assert "repairing blocks: " in repaired.stderr
    assert (datadir / "store.damaged" / "data.mdb").exists()
    assert faults(datadir) == []
    assert foreseal("journal", "check", datadir).returncode == 0
    driver = chain.Driver(datadir)
    head = int(driver.rpc("eth_blockNumber"), 16)
    calls: list[tuple[str, list[Any]]] = [("eth_getBlockByNumber", [hex(number), True]) for number in range(head + 1)]
    calls += [("eth_getBlockReceipts", [hex(number)]) for number in range(head + 1)]
    calls += [("eth_getBalance", [driver.rpc("eth_accounts")[SENDER], hex(number)]) for number in range(head + 1)]
    driver.close()
    whole = chain.copy(original)
    assert chain.query(datadir, calls) == chain.query(whole, calls)
    shutil.rmtree(whole)


def test_a_node_of_another_chain_is_rejected(datadir: Path, original: Path) -> None:
    answers = {"eth_chainId": "0x1", "eth_blockNumber": "0x5", "eth_getBlockByNumber": {"hash": "0x" + "00" * 32}}
    with answering(answers) as url:
        ended = foreseal("db", "repair", datadir, "--from", url, "--yes")
    assert ended.returncode == 2
    assert "--from: the node has chain id 1, the data directory has 31337" in ended.stderr
    assert_unchanged(datadir, original)


@pytest.mark.parametrize(
    ("answers", "message"),
    [
        ({"eth_chainId": "0x7a69", "eth_blockNumber": "many"}, "expected a number in hex"),
        (IDENTITY, "block 0 is missing"),
        ({**IDENTITY, "eth_getBlockByNumber": {"hash": "0x12"}}, "the hash of block 0 has 1 bytes"),
        ({**IDENTITY, "eth_getBlockByNumber": {"hash": 7}}, "expected bytes in hex, got '7'"),
    ],
)
def test_unusable_responses_name_the_option(
    datadir: Path, original: Path, answers: dict[str, Any], message: str
) -> None:
    with answering(answers) as url:
        ended = foreseal("db", "repair", datadir, "--from", url, "--yes")
        assert (ended.returncode, ended.stderr.count("Traceback")) == (1, 0)
        assert f"--from: {url}: " in ended.stderr
    assert message in ended.stderr
    assert_unchanged(datadir, original)


def test_a_node_with_more_blocks_than_the_journal_is_reported(datadir: Path, original: Path) -> None:
    copied = chain.copy(original)
    with live_node("--datadir", str(copied), command="run") as node:
        head = int(node.rpc("eth_blockNumber"), 16)
        wait_until(lambda: int(node.rpc("eth_blockNumber"), 16) > head)
        unsure = foreseal("db", "repair", datadir, "--from", node.url, input="n\n")
    shutil.rmtree(copied)
    assert unsure.returncode == 130
    assert "warning: that node is at block " in unsure.stderr
    assert_unchanged(datadir, original)


def test_rate_limit_is_waited_for_and_the_key_is_sent(tmp_path: Path) -> None:
    (tmp_path / "key").write_text("fs_secret\n")
    headers: list[Any] = []
    answers = {**IDENTITY, "eth_getBlockByNumber": {"hash": "0x" + "11" * 32}, "debug_getRawBlock": "0xc0"}
    with answering(answers, 2, headers) as url:
        node = RecoverySource(url, read_key(tmp_path / "key"))
        assert node.chain() == (31337, b"\x11" * 32, 1)
        assert node.block(1) == b"\xc0"
        node.close()
    assert [header["x-api-key"] for header in headers] == ["fs_secret"] * 6
    with answering(answers, MAX_RATE_WAITS) as url:
        node = RecoverySource(url)
        with pytest.raises(NodeError, match=r"^--from: http://.*: eth_chainId was rate limited"):
            node.chain()
        node.close()


def test_unreachable_node_and_invalid_url_name_the_option(datadir: Path, original: Path, tmp_path: Path) -> None:
    with answering({}) as url:
        unreachable_url = url
    ended = foreseal("db", "repair", datadir, "--from", unreachable_url, "--yes")
    assert ended.returncode == 1
    assert f"--from: {unreachable_url}: ConnectionRefusedError" in ended.stderr
    wrong = foreseal("db", "repair", datadir, "--from", "ftp://somewhere", "--yes")
    assert (wrong.returncode, "'--from': must be a URL with http or https" in wrong.stderr) == (2, True)
    key = tmp_path / "key"
    key.write_text("\n")
    alone = foreseal("db", "repair", datadir, "--from-key-file", key)
    assert (alone.returncode, "--from-key-file requires --from URL" in alone.stderr) == (2, True)
    empty = foreseal("db", "repair", datadir, "--from", unreachable_url, "--from-key-file", key)
    assert (empty.returncode, "must contain one API key" in empty.stderr) == (2, True)
    assert_unchanged(datadir, original)
