"""A subscription without messages behind each documented proxy: it stays open, and then delivers.

The long form waits three minutes, more than the default timeout of any proxy: FORESEAL_QUIET_SECONDS=180.
"""

import os
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

import orjson
import pytest
from websockets.sync.client import ClientConnection, connect

from foreseal.bench.chain_content import account, native
from foreseal.cluster.launched_process import LaunchedProcess
from foreseal.ports import next_free_port
from live import live_node
from live.proxies import describe_documented_nginx, describe_haproxy, describe_nginx, require_program, running_proxy

QUIET = float(os.environ.get("FORESEAL_QUIET_SECONDS", "2"))
_CHAIN_ID = 31337
_RECIPIENT = b"\xee" * 20


def _of_cluster(
    describe: Callable[[str, Path, int, list[int]], LaunchedProcess],
) -> Callable[[str, Path, int, int], LaunchedProcess]:
    return lambda program, folder, port, node: describe(program, folder, port, [node])


PROXIES = {
    "transports.md": ("nginx", describe_documented_nginx),
    "foreseal-cluster.conf": ("nginx", _of_cluster(describe_nginx)),
    "haproxy.cfg": ("haproxy", _of_cluster(describe_haproxy)),
}


@pytest.mark.timeout(QUIET + 200)
@pytest.mark.parametrize("configuration", PROXIES)
def test_quiet_subscription_stays_open_and_then_delivers(transport: str, configuration: str, tmp_path: Path) -> None:
    name, describe = PROXIES[configuration]
    program, port = require_program(name), next_free_port()
    with live_node("--transport", transport, "--trusted-proxy", "127.0.0.1") as node:
        listening = urlsplit(node.url).port
        assert listening is not None
        # The client sends no ping of its own: only node and proxy keep the connection.
        with (
            running_proxy(describe(program, tmp_path, port, listening), port),
            connect(f"ws://127.0.0.1:{port}", ping_interval=None) as client,
        ):
            subscription = _request(client, "eth_subscribe", "newPendingTransactions")
            with pytest.raises(TimeoutError):
                client.recv(timeout=QUIET)
            (signed,) = account(0).sign(_CHAIN_ID, [native(_RECIPIENT)])
            assert node.rpc("eth_sendRawTransaction", signed.raw) == signed.hash
            message = orjson.loads(client.recv(timeout=30))
            assert message["params"] == {"subscription": subscription, "result": signed.hash}


def _request(client: ClientConnection, method: str, *params: object) -> object:
    """Return the result of a call."""
    client.send(orjson.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).decode())
    return orjson.loads(client.recv(timeout=30))["result"]
