"""Starts nodes: Foreseal with its default transport or a named one, and the peers that this machine has."""

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from foreseal.bench.errors import BenchError
from foreseal.bench.node import BenchNode
from foreseal.ports import next_free_port

START = 120.0
"""Seconds until a node must respond; a peer that is compiled or downloaded at its first start takes long."""
_STOP = 30.0
_POLL_INTERVAL = 0.005
_GAS_LIMIT = 400_000_000
# The block time exceeds any run, so blocks come only on command.
_NEVER = "86400s"
_MAX_OUTPUT = 2000
_TRANSPORT = re.compile(r"^ *Transport +(\w+)$", re.MULTILINE)
_GETH = "github.com/ethereum/go-ethereum/cmd/geth@v1.16.7"
# Paths below this folder, and in a clone of Foreseal, of npm packages with a native binary.
_BENEATH = (
    "node_modules/@foundry-rs/{0}-*/bin/{0}",
    "tests/campaigns/differential/node_modules/@foundry-rs/{0}-*/bin/{0}",
)


class PeerUnavailable(Exception):
    """A peer that this machine lacks; the message names the package to install."""


class PeerProcess:
    """The process of a node."""

    def __init__(
        self, name: str, command: Callable[[int, Path], Sequence[str]], is_persistent: bool, cwd: Path | None = None
    ) -> None:
        """`command` receives a port and a folder; `is_persistent` means that the chain persists in the folder."""
        self.name, self.is_persistent = name, is_persistent
        self._cwd = cwd
        self._command = command
        self._folder = tempfile.TemporaryDirectory(prefix="foreseal-bench-", ignore_cleanup_errors=True)
        self._process: subprocess.Popen[bytes] | None = None
        self.node: BenchNode | None = None
        self.start_ms = 0.0
        """Milliseconds from the command to the first response."""

    def start(self, before: BenchNode | None = None) -> BenchNode:
        """Start the node, on the chain and address of `before` if given. Raise BenchError on failure."""
        port, folder = before.port if before else next_free_port(), Path(self._folder.name)
        command = self._command(port, folder)
        began = time.perf_counter()
        with self._output.open("wb") as output:
            self._process = subprocess.Popen(  # noqa: S603
                command,
                cwd=self._cwd,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        self.node = node = before or BenchNode(self.name, f"http://127.0.0.1:{port}")
        while True:
            with suppress(BenchError):
                node.call("eth_blockNumber")
                break
            if self._process.poll() is not None or time.perf_counter() - began > START:
                text = self._output.read_text(errors="replace")[-_MAX_OUTPUT:]
                raise BenchError(f"{self.name} did not start ({' '.join(command)}): {text}")
            time.sleep(_POLL_INTERVAL)
        self.start_ms = (time.perf_counter() - began) * 1000
        return node

    @property
    def transport(self) -> str | None:
        """The transport that a Foreseal node printed at its start; None for other nodes."""
        printed = _TRANSPORT.search(self._output.read_text(errors="replace"))
        return printed[1] if printed else None

    @property
    def _output(self) -> Path:
        """File of what the node printed since its last start."""
        return Path(self._folder.name) / "output"

    def stop(self) -> None:
        """Stop the node with SIGTERM, then SIGKILL, like a process manager."""
        if self.node is not None:
            self.node.close()
        if self._process is None:
            return
        for number in (signal.SIGTERM, signal.SIGKILL):
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, number)
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(_STOP)
                break
        self._process = None

    def close(self) -> None:
        """Stop the node and delete its chain."""
        self.stop()
        self._folder.cleanup()


def _foreseal(transport: str | None = None) -> Callable[[], PeerProcess]:
    """Return the start function of Foreseal with this transport; None is the default of `foreseal dev`."""
    name, options = ("foreseal", []) if transport is None else (f"foreseal-{transport}", ["--transport", transport])

    def make() -> PeerProcess:
        def command(port: int, folder: Path) -> list[str]:
            node = [sys.executable, "-m", "foreseal", "dev", "--port", str(port), *options]
            return [*node, "--datadir", str(folder / "chain"), "--block-time", _NEVER]

        return PeerProcess(name, command, is_persistent=True)

    return make


def _anvil() -> PeerProcess:
    binary = _program("anvil", "FORESEAL_BENCH_ANVIL", "npm install @foundry-rs/anvil-linux-amd64, or foundry")

    def command(port: int, folder: Path) -> list[str]:
        options = ["--no-mining", "--gas-limit", str(_GAS_LIMIT), "--quiet", "--order", "fifo"]
        return [binary, "--port", str(port), "--state", str(folder / "state.json"), *options]

    return PeerProcess("anvil", command, is_persistent=True)


def _hardhat() -> PeerProcess:
    binary = _program("hardhat", "FORESEAL_BENCH_HARDHAT", "npm install hardhat@2 ethers, beside its hardhat.config.js")
    # It only runs in the folder whose packages it belongs to.
    project = Path(binary).parents[2]

    def command(port: int, folder: Path) -> list[str]:
        config = folder / "hardhat.config.js"
        network = f"{{ chainId: 31337, blockGasLimit: {_GAS_LIMIT}, mining: {{ auto: false, interval: 0 }} }}"
        config.write_text(f"module.exports = {{ solidity: '0.8.28', networks: {{ hardhat: {network} }} }}\n")
        return [binary, "--config", str(config), "node", "--hostname", "127.0.0.1", "--port", str(port)]

    return PeerProcess("hardhat", command, is_persistent=False, cwd=project)


def _geth() -> PeerProcess:
    try:
        binary = _program("geth", "FORESEAL_BENCH_GETH", f"go install {_GETH}")
    except PeerUnavailable as absent:
        binary = _built_geth(absent)

    def command(port: int, folder: Path) -> list[str]:
        web = ["--http", "--http.port", str(port), "--ws", "--ws.port", str(port), "--http.api", "eth,net,web3,debug"]
        pool = ["--txpool.accountqueue", "1024", "--txpool.accountslots", "10000", "--txpool.globalslots", "1000000"]
        return [
            *(binary, "--dev", "--dev.gaslimit", str(_GAS_LIMIT), "--datadir", str(folder / "chain")),
            *(*web, *pool, "--port", "0", "--nodiscover", "--authrpc.port", str(next_free_port()), "--verbosity", "1"),
            *("--ipcdisable", "--rpc.batch-response-max-size", "0", "--rpc.batch-request-limit", "0"),
        ]

    return PeerProcess("geth", command, is_persistent=True)


KINDS: dict[str, Callable[[], PeerProcess]] = {
    "foreseal": _foreseal(),
    "foreseal-native": _foreseal("native"),
    "foreseal-asgi": _foreseal("asgi"),
    "anvil": _anvil,
    "hardhat": _hardhat,
    "geth": _geth,
}
"""Start functions by name; each raises `PeerUnavailable` if this machine lacks the node."""


def _built_geth(absent: PeerUnavailable) -> str:
    """Return geth, built by Go from its module and cached for later runs. Raise `absent` without Go."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "foreseal-bench"
    binary = cache / _GETH.rpartition("@")[2] / "geth"
    go = shutil.which("go")
    if not binary.exists():
        if go is None or "FORESEAL_BENCH_GETH" in os.environ:
            raise absent
        print(f"foreseal: geth is built by {go} install {_GETH}: some minutes, once", file=sys.stderr, flush=True)
        environment = {**os.environ, "GOBIN": str(binary.parent)}
        built = subprocess.run([go, "install", _GETH], env=environment, capture_output=True, text=True)  # noqa: S603
        if built.returncode:
            raise PeerUnavailable(f"go install {_GETH} failed: {built.stderr[-_MAX_OUTPUT:]}")
    return str(binary)


def _program(name: str, variable: str, install: str) -> str:
    """Return the path of a program: from the variable, PATH, npm packages below this folder, or Go's folder."""
    configured = os.environ.get(variable)
    beside = Path.cwd()
    candidates = [
        configured,
        shutil.which(name),
        str(beside / "node_modules" / ".bin" / name),
        *(str(path) for pattern in _BENEATH for path in sorted(beside.glob(pattern.format(name)))),
        shutil.which(name, path=str(Path.home() / "go" / "bin")),
    ]
    for candidate in candidates:
        if candidate and os.access(candidate, os.X_OK):
            return str(Path(candidate).absolute())
    if configured:
        raise PeerUnavailable(f"{variable}: {configured} is not a program")
    raise PeerUnavailable(f"{name} is not on the PATH, and {variable} does not name it: {install}")


_NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,30}")


def named(text: str) -> BenchNode:
    """Return the node of NAME=URL. Raise ValueError."""
    name, separator, url = text.partition("=")
    if not separator or not _NAME.fullmatch(name):
        raise ValueError(f"{text!r} is not NAME=URL")
    return BenchNode(name, url)
