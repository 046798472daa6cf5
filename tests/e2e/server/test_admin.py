"""Permitted callers: development methods on development nodes, admin methods on the admin listener."""

import contextlib
import json
import re
import subprocess
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from command import foreseal
from live import LiveNode, Rpc, RpcFailure, live_node, wait_for
from live.blocks import wait_for_block
from raw_websocket import RawWebSocket
from unix_http import UnixConnection

_ADMIN = re.compile(r"admin listener at (http://\S+)")
JSON = {"Content-Type": "application/json"}
SET = {"jsonrpc": "2.0", "id": 1, "method": "foreseal_setFinality", "params": [{"safe": "0x0"}]}


class Pair:
    """A node with its public and its admin endpoint."""

    def __init__(self, node: LiveNode) -> None:
        match = wait_for(lambda: _ADMIN.search(node.printed), 10, "URL for administrators")
        self.node = node
        self.public = node.rpc
        self.admin = Rpc(match[1])


@contextlib.contextmanager
def with_admin(*arguments: str, command: str = "dev", values: Mapping[str, object] | None = None) -> Iterator[Pair]:
    # The newest blocks become safe by `foreseal_setFinality` only.
    depths = ("--safe-depth", "1000", "--finalized-depth", "1000")
    with live_node("--admin", "127.0.0.1:0", *depths, *arguments, command=command, values=values) as node:
        pair = Pair(node)
        yield pair
        pair.admin.close()


@pytest.fixture(scope="module")
def dev() -> Iterator[Pair]:
    with with_admin() as pair:
        yield pair


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    """Run `foreseal run` on a chain that `foreseal dev` created."""
    folder = str(tmp_path_factory.mktemp("chain"))
    with live_node("--datadir", folder) as begun:
        begun.rpc("anvil_setBalance", "0x" + "77" * 20, "0x5")
        wait_for_block(begun.rpc, 1)
    with with_admin("--datadir", folder, command="run") as pair:
        yield pair


def names(rpc: Rpc) -> set[str]:
    return {method["name"] for method in rpc("rpc.discover")["methods"]}


def refusal(rpc: Rpc, method: str, *params: Any) -> RpcFailure:
    with pytest.raises(RpcFailure) as caught:
        rpc(method, *params)
    return caught.value


def test_run_rejects_every_development_method_on_both_listeners(dev: Pair, run: Pair) -> None:
    development = names(dev.public) - names(run.public)
    assert {"evm_mine", "anvil_setBalance", "hardhat_setBalance", "evm_snapshot", "anvil_reorg"} <= development
    for rpc in (run.public, run.admin):
        head = rpc("eth_blockNumber")
        for method in development:
            refused = refusal(rpc, method)
            assert refused.code == -32601, method
            assert refused.message == (
                f"the method {method} does not exist/is not available: "
                "it is served by development nodes only (foreseal dev)"
            )
        assert int(rpc("eth_blockNumber"), 16) - int(head, 16) < 10


def test_no_setting_opens_development_methods_on_run(dev: Pair, run: Pair, tmp_path: Path) -> None:
    folder, file, socket = tmp_path / "d", tmp_path / "f.toml", tmp_path / "admin.sock"
    with live_node("--datadir", str(folder)):
        pass
    file.write_text("[access]\npublic = false\nhosts = ['*']\n[server]\nhost = '0.0.0.0'\n")
    more = ("--datadir", str(folder), "--config", str(file), "--admin", f"unix:{socket}")
    refused = [*sorted(names(dev.public) - names(run.public)), SET["method"]]
    with live_node(*more, command="run") as node:
        batch = [SET | {"method": name} for name in refused]
        assert {each["error"]["code"] for each in node.rpc.post(json.dumps(batch).encode(), JSON).json()} == {-32601}
        with RawWebSocket(urlsplit(node.url).port or 0) as line:
            for name in refused:
                line.call(name)
                assert line.hear()["error"]["code"] == -32601
        # The socket serves admin methods, and nothing else.
        assert socket.stat().st_mode & 0o777 == 0o600
        connection = UnixConnection(socket)
        connection.request("POST", "/", json.dumps([SET, *batch[:-1]]), JSON)
        first, *others = json.loads(connection.getresponse().read())
        connection.close()
        assert first["result"] is True
        assert {each["error"]["code"] for each in others} == {-32601}
    assert not socket.exists()


@pytest.mark.parametrize(
    ("variable", "words"),
    [("DEV", "{} is a setting of"), ("DEVELOPMENT", "unknown variable {}")],
)
def test_no_variable_opens_development_methods_on_run(variable: str, words: str, tmp_path: Path) -> None:
    ended = foreseal("run", "--datadir", tmp_path / "d", env={f"FORESEAL_{variable}": "1"})
    assert ended.returncode == 2
    assert words.format(f"FORESEAL_{variable}") in ended.stderr


@pytest.mark.parametrize("where", ["0.0.0.0:8546", "[::]:8546", "10.1.2.3:8546", "example.com:8546"])
def test_admin_listener_rejects_public_addresses(where: str, tmp_path: Path) -> None:
    ended = foreseal("run", "--datadir", tmp_path / "d", "--admin", where)
    assert ended.returncode == 2
    assert f"the admin listener must have a loopback address, got {where}" in ended.stderr
    assert "127.0.0.1:PORT, [::1]:PORT or unix:PATH" in ended.stderr


def test_finality_is_set_only_on_the_admin_listener(dev: Pair, run: Pair) -> None:
    for pair in (dev, run):
        assert names(pair.admin) - names(pair.public) == {"foreseal_handover", "foreseal_setFinality"}
        wait_for_block(pair.public, 1)
        refused = refusal(pair.public, "foreseal_setFinality", {"safe": "0x1"})
        assert refused.code == -32601
        assert refused.message == (
            "the method foreseal_setFinality does not exist/is not available: "
            "it is served on the admin listener only (--admin)"
        )
        assert pair.public("eth_getBlockByNumber", "safe", False)["number"] == "0x0"
        assert pair.admin("foreseal_setFinality", {"safe": "0x1"}) is True
        assert pair.public("eth_getBlockByNumber", "safe", False)["number"] == "0x1"
        assert pair.public("eth_getBlockByNumber", "finalized", False)["number"] == "0x0"


def test_admin_batches_can_call_admin_methods(dev: Pair) -> None:
    call = ("foreseal_setFinality", {"finalized": "0x0"})
    assert dev.admin.batch(call, ("eth_chainId",)) == [True, "0x7a69"]
    with pytest.raises(RpcFailure, match="-32601"):
        dev.public.batch(("eth_chainId",), call)


def test_worker_pool_results_return_to_the_calling_listener(dev: Pair) -> None:
    """Long calls of both listeners wait on the same worker pool."""
    wrong: list[Any] = []

    def query(url: str, value: int) -> None:
        rpc = Rpc(url)
        code = f"0x60{value:02x}60005260206000f3"
        place = "0x" + "ab" * 20
        for _ in range(100):
            answer = rpc("eth_call", {"to": place}, "latest", {place: {"code": code}})
            if int(answer, 16) != value:
                wrong.append((value, answer))
        rpc.close()

    threads = [
        threading.Thread(target=query, args=(rpc.url, value)) for value, rpc in ((1, dev.public), (2, dev.admin))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


@pytest.mark.parametrize("headers", [{"Origin": "http://localhost:3000"}, {"Origin": "null"}, {"Host": "evil.example"}])
def test_no_page_may_call_the_admin_listener(dev: Pair, run: Pair, headers: dict[str, str]) -> None:
    for pair in (dev, run):
        for _ in range(2):
            # A valid request before it changes nothing.
            assert pair.admin.post(json.dumps(SET).encode(), JSON).status == 200
            assert pair.admin.post(json.dumps(SET).encode(), JSON | headers).status == 403
        assert pair.admin.request("OPTIONS", "/", headers={"Origin": "http://a.example"}).status == 403
        answer = pair.admin.post(json.dumps(SET).encode(), JSON)
        assert not [name for name in answer.headers if name.startswith("access-control")]


def test_admin_listener_serves_health_and_metrics(dev: Pair) -> None:
    assert dev.admin.request("GET", "/readyz").status == 200
    assert b"foreseal_" in dev.admin.request("GET", "/metrics").body


def test_no_admin_listener_without_the_option(node: LiveNode) -> None:
    assert "administrators" not in node.printed
    assert refusal(node.rpc, "foreseal_setFinality", {"safe": "0x0"}).code == -32601


def test_occupied_address_is_reported_before_the_store_is_opened(dev: Pair, tmp_path: Path) -> None:
    where = dev.admin.url.removeprefix("http://")
    done: subprocess.CompletedProcess[str] = foreseal(
        "dev", "--port", 0, "--admin", where, "--datadir", tmp_path / "new"
    )
    assert done.returncode == 1
    assert f"cannot listen on {where}" in done.stderr
    assert not (tmp_path / "new").exists()


def test_exposed_development_methods_log_a_warning(node: LiveNode) -> None:
    assert "is not a loopback address" not in node.printed
    with live_node("--host", "0.0.0.0") as reachable:
        warning = "Warning: 0.0.0.0 is not a loopback address. Any client that reaches it can use the keys above"
        # The banner continues after the URL.
        wait_for(lambda: warning in reachable.printed, 10, "warning", lambda: reachable.printed)


def test_admin_metrics_equal_those_of_the_public_endpoint() -> None:
    with with_admin("--public", values={"public_limits.caller_filters": 1}) as pair:
        assert pair.public("eth_newBlockFilter")
        for call in (pair.public, pair.public):
            with pytest.raises(RpcFailure, match="at most 1 filters"):
                call("eth_newBlockFilter")
        page = pair.admin.request("GET", "/metrics").body.decode()
        for line in (
            'foreseal_refused_total{tier="public",reason="caller_filters"} 2',
            'foreseal_cache_entries{cache="addresses"} 1',
            "foreseal_filters 1",
        ):
            assert line in page.splitlines(), line
