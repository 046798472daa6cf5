"""Programs run by `evm` of geth, which Go builds once."""

import json
import os
import re
import resource
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benches.opcodes.assembler import assemble
from benches.opcodes.rows import Row

VERSION = "v1.17.10"
_MODULE = f"github.com/ethereum/go-ethereum/cmd/evm@{VERSION}"
_VARIABLE = "FORESEAL_BENCH_EVM"
_TIMEOUT, _BUILD_TIMEOUT = 300.0, 1800.0
_MAX_OUTPUT = 2000
_GAS = re.compile(r"^EVM gas used: +(\d+)$", re.MULTILINE)
_TIME = re.compile(r"^execution time: +(\S+)$", re.MULTILINE)
_WORDS = re.compile(r"^0x([0-9a-f]{128})$", re.MULTILINE)
_PART = re.compile(r"([\d.]+)(h|ms|us|µs|μs|ns|m|s)")
_UNITS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ns": 1e-9}
_BLOCK_FORKS = (
    "homestead eip150 eip155 eip158 byzantium constantinople petersburg istanbul muirGlacier berlin london "
    "arrowGlacier grayGlacier mergeNetsplit"
).split()
_TIME_FORKS = ("shanghai", "cancun", "prague", "osaka")
_BLOBS = {"target": 6, "max": 9, "baseFeeUpdateFraction": 5007716}


class EvmError(Exception):
    """`evm` is unavailable, or a program ended in an unexpected state; the message states why."""


def seconds(text: str) -> float:
    """Return the seconds of a duration as Go prints it."""
    parts = _PART.findall(text)
    if not parts or "".join(number + unit for number, unit in parts) != text:
        raise EvmError(f"{text!r} is not a duration")
    return sum(float(number) * _UNITS[unit] for number, unit in parts)


def genesis(gas: int, accounts: dict[int, bytes]) -> dict[str, Any]:
    """Return a genesis with all forks up to Osaka, whose gas limit is the gas of the run."""
    config: dict[str, Any] = {f"{fork}Block": 0 for fork in _BLOCK_FORKS}
    config |= {f"{fork}Time": 0 for fork in _TIME_FORKS}
    config |= {"chainId": 1337, "terminalTotalDifficulty": 0}
    config["blobSchedule"] = dict.fromkeys(_TIME_FORKS[1:], _BLOBS)
    alloc = {f"0x{address:040x}": {"balance": "0x1", "code": f"0x{code.hex()}"} for address, code in accounts.items()}
    fields = {"gasLimit": hex(gas), "difficulty": "0x0", "timestamp": "0x1", "baseFeePerGas": "0x7"}
    return {"config": config, "alloc": alloc, **fields}


class GethEvm:
    """The program `evm`, with a folder for its input files."""

    def __init__(self, folder: Path) -> None:
        """Raise EvmError if there is neither `evm` nor Go to build it."""
        self._folder = folder
        self.binary = _find_binary()

    def time(self, row: Row, gas: int) -> float:
        """Return the seconds of one execution, the mean of a second of executions. Raise EvmError."""
        output = self._run(row, row.code, gas, "--bench")
        used, duration = _GAS.search(output), _TIME.search(output)
        if used is None or duration is None:
            raise EvmError(f"{row.name}: evm printed {output[-_MAX_OUTPUT:]!r}")
        if int(used[1]) != gas or "error: out of gas" not in output:
            raise EvmError(f"{row.name}: evm used {used[1]} of {gas} gas: {output[-_MAX_OUTPUT:]!r}")
        return seconds(duration[1])

    def processor_time(self, row: Row, gas: int) -> float:
        """Return the processor seconds of one execution without a warm-up, less those of an empty program."""
        used = []
        for code in (row.code, assemble("STOP")):
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            self._run(row, code, gas)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            used.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
        return max(used[0] - used[1], 1e-6)

    def probe(self, row: Row, gas: int) -> bytes:
        """Return the output of the row's probe. Raise EvmError."""
        output = self._run(row, row.probe, gas)
        match = _WORDS.search(output)
        if match is None:
            raise EvmError(f"{row.name}: evm printed {output[-_MAX_OUTPUT:]!r}")
        return bytes.fromhex(match[1])

    def _run(self, row: Row, code: bytes, gas: int, *options: str) -> str:
        files = {name: self._folder / f"{name}.txt" for name in ("prestate", "codefile", "inputfile")}
        files["prestate"].write_text(json.dumps(genesis(gas, dict(row.accounts))))
        files["codefile"].write_text(code.hex())
        files["inputfile"].write_text(row.data.hex())
        named: Sequence[str] = [item for name, path in files.items() for item in (f"--{name}", str(path))]
        command = [self.binary, "run", *options, *named]
        done = subprocess.run(command, capture_output=True, text=True, timeout=_TIMEOUT)
        if done.returncode:
            raise EvmError(f"{row.name}: evm failed: {(done.stderr + done.stdout)[-_MAX_OUTPUT:]}")
        return done.stderr + done.stdout


def _find_binary() -> str:
    """Return `evm` of the variable, or the one that Go builds from geth's module with cgo and that is cached."""
    if configured := os.environ.get(_VARIABLE):
        if not os.access(configured, os.X_OK):
            raise EvmError(f"{_VARIABLE}: {configured} is not a program")
        return configured
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "foreseal-bench"
    binary = cache / VERSION / "evm"
    if not binary.exists():
        go = shutil.which("go") or shutil.which("go", path="/usr/local/go/bin")
        if go is None:
            raise EvmError(f"evm of geth {VERSION} is not built, and go is not on the PATH: go install {_MODULE}")
        print(f"evm is built by {go} install {_MODULE}: some minutes, once", file=sys.stderr, flush=True)
        environment = {**os.environ, "GOBIN": str(binary.parent), "CGO_ENABLED": "1"}
        built = subprocess.run(
            [go, "install", _MODULE], env=environment, capture_output=True, text=True, timeout=_BUILD_TIMEOUT
        )
        if built.returncode:
            raise EvmError(f"go install {_MODULE} failed: {built.stderr[-_MAX_OUTPUT:]}")
    return str(binary)
