"""`foreseal.server:app` under granian and uvicorn, started by their own commands."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from foreseal.ports import next_free_port
from live.process import LiveNode
from raw_websocket import RawWebSocket


def command(server: str) -> list[str]:
    """Return the command that serves the application on a free port."""
    start = {
        "uvicorn": ["uvicorn", "foreseal.server:app", "--lifespan", "on"],
        "granian": ["granian", "--interface", "asgi", "foreseal.server:app"],
    }[server]
    return [sys.executable, "-m", *start, "--port", str(next_free_port())]


@pytest.fixture(params=["uvicorn", "granian"])
def server(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("FORESEAL_DATADIR", str(tmp_path))
    monkeypatch.setenv("FORESEAL_DEV", "1")
    return str(request.param)


@pytest.fixture
def node(server: str) -> Iterator[LiveNode]:
    node = LiveNode(command(server))
    yield node
    if node.process.poll() is None:
        node.kill()


def test_asgi_server_responds_and_stops_gracefully(node: LiveNode, tmp_path: Path) -> None:
    assert node.rpc("eth_chainId") == "0x7a69"
    assert int(node.rpc("eth_getBlockByNumber", "pending", False)["number"], 16) >= 1
    node.rpc.close()
    port = urlsplit(node.url).port
    assert port
    with RawWebSocket(port) as socket:
        assert socket.request("eth_chainId") == "0x7a69"
        assert socket.request("eth_subscribe", "newHeads")
        assert socket.hear()["params"]["result"]["number"]
        node.process.send_signal(signal.SIGINT)
        # Their own commands close connections before they notify the application: uvicorn with 1012, granian without a
        # code.
        assert socket.ending()[0] in (1001, 1006, 1012)
    assert node.process.wait(30) == 0
    assert (tmp_path / "pool.bin").exists(), "a clean stop saves the pool"


def test_second_server_on_the_same_folder_is_rejected(server: str, node: LiveNode, tmp_path: Path) -> None:
    second = subprocess.run(command(server), capture_output=True, text=True, timeout=60, check=False)
    assert second.returncode != 0
    told = [line for line in (second.stdout + second.stderr).splitlines() if str(tmp_path) in line]
    assert len(told) == 1
    assert "foreseal: " in told[0]
    assert node.rpc("eth_chainId") == "0x7a69"
