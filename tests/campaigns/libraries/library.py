"""The libraries, pinned, and how each is installed and started."""

import fcntl
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from npm import find_node, install
from repository import CAMPAIGNS, ROOT

HERE = Path(__file__).parent
JAVASCRIPT, GO, PYTHON = HERE / "javascript", HERE / "golang", HERE / "python"
CACHE = ROOT / "target" / "libraries"
"""Environments and programs that are made from the pinned packages."""

INSTALL_TIME = 1800.0
"""Seconds for the packages of one language; the first build of go-ethereum compiles its cryptography."""


class NotInstalled(Exception):
    """A program that the library needs is not on the PATH."""


@dataclass(frozen=True, slots=True)
class Library:
    """One library at its pinned version."""

    name: str
    version: str
    command: Callable[[], list[str]]
    """Installs the library and returns the command of its flows. Raises NotInstalled, and CalledProcessError."""
    flows: tuple[str, ...] = ("deploy", "allowance", "transfer", "replacement", "confirmations", "events")


def javascript(file: str) -> Callable[[], list[str]]:
    """Return the command of a file of `javascript`."""

    def command() -> list[str]:
        _require("node", "npm")
        install(JAVASCRIPT, INSTALL_TIME)
        return [find_node(), str(JAVASCRIPT / file)]

    return command


def python(module: str, lock: str) -> Callable[[], list[str]]:
    """Return the command of a module of `python` in an environment of the packages of a lock file."""

    def command() -> list[str]:
        environment = CACHE / lock
        environment.mkdir(parents=True, exist_ok=True)
        pins = PYTHON / f"{lock}.lock"
        done = environment / ".installed-from"
        with (environment / ".exclusive").open("w") as exclusive:
            fcntl.flock(exclusive, fcntl.LOCK_EX)
            if not done.exists() or done.read_bytes() != pins.read_bytes():
                _run(sys.executable, "-m", "venv", "--clear", str(environment / "venv"))
                _run(str(environment / "venv/bin/pip"), "install", "--quiet", "--requirement", str(pins))
                done.write_bytes(pins.read_bytes())
        # The module path has a package of this repository only; `env` leaves the variables of the flows.
        return [
            *("env", f"PYTHONPATH={CAMPAIGNS}"),
            *(str(environment / "venv/bin/python"), "-W", "ignore", "-m", f"libraries.python.{module}"),
        ]

    return command


def go() -> list[str]:
    """Build the program of go-ethereum and return its command."""
    _require("go")
    CACHE.mkdir(parents=True, exist_ok=True)
    program = CACHE / "go-ethereum"
    _run("go", "build", "-mod=readonly", "-o", str(program), ".", folder=GO)
    return [str(program)]


LIBRARIES = [
    Library("ethers", "6.17.0", javascript("ethers6.mjs")),
    Library("viem", "2.57.20", javascript("viem.mjs")),
    Library("go-ethereum", "1.17.10", go),
    Library("web3.py-7", "7.16.0", python("web3_flows", "web3_7")),
    Library("ethers-5", "5.8.0", javascript("ethers5.mjs")),
    Library("web3.js-4", "4.16.0", javascript("web3js4.mjs")),
    Library("web3.py-8", "8.0.0", python("web3_flows", "web3_8")),
    Library("titanoboa", "0.2.8", python("boa_flows", "boa"), ("deploy", "allowance", "transfer")),
    Library("eth-ape", "0.8.52", python("ape_flows", "ape"), ("deploy", "allowance", "transfer", "confirmations")),
]


def _require(*programs: str) -> None:
    missing = [program for program in programs if shutil.which(program) is None]
    if missing:
        raise NotInstalled(f"{' and '.join(missing)} must be on the PATH")


def _run(*command: str, folder: Path | None = None) -> None:
    subprocess.run(command, cwd=folder, check=True, timeout=INSTALL_TIME, capture_output=True, text=True)
