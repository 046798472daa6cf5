"""Recordings of a stock driver and its execution engine: files of the folder `vectors/optimism`."""

import io
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import orjson
import zstandard

from live_node import shared
from optimism.genesis import Fork
from optimism.node import OptimismNode

RECORDED_CHAINS = ("jovian", "karst", "karst-reorg")
REPLAY_TIME = 240
"""Seconds within which a recording must be replayed."""


def recordings() -> Path:
    """Return the folder of the recordings; skip the test if it does not exist."""
    return shared("optimism")


def recorded_fork(name: str) -> Fork:
    """Return the newest fork of a recorded chain."""
    return Fork(name.partition("-")[0])


def genesis_file(name: str) -> Path:
    """Return the genesis file of a recorded chain."""
    return recordings() / f"genesis-{name}.json"


def recorded_genesis(name: str) -> dict[str, Any]:
    """Return the genesis of a recorded chain, in geth's format."""
    genesis: dict[str, Any] = orjson.loads(genesis_file(name).read_bytes())
    return genesis


@cache
def recorded_chain(name: str) -> dict[str, Any]:
    """Return the blocks, deposits, proofs and tags of the recorded engine after the recording."""
    chain: dict[str, Any] = orjson.loads(b"".join(decompress(recordings() / f"expect-{name}.json.zst")))
    return chain


def decompress(file: Path) -> Iterator[bytes]:
    """Yield the lines of a file that is compressed with zstd."""
    with file.open("rb") as compressed:
        yield from io.BufferedReader(zstandard.ZstdDecompressor().stream_reader(compressed))


def replay(node: OptimismNode, kind: str, name: str, *arguments: str) -> str:
    """Replay a recording with the program of its folder; return its output, whose last line counts the exchanges."""
    folder = recordings()
    # The program reads a compressed file with the command zstd, which a machine may lack.
    recording = node.secret_file.with_name(f"{kind}-{name}.jsonl")
    recording.write_bytes(b"".join(decompress(folder / f"{kind}-{name}.jsonl.zst")))
    command = [sys.executable, str(folder / "replay.py"), "--engine", node.engine.url, "--jwt", str(node.secret_file)]
    done = subprocess.run(
        [*command, "--recording", str(recording), *arguments],
        capture_output=True,
        text=True,
        timeout=REPLAY_TIME,
        check=False,
    )
    output = done.stdout + done.stderr
    assert done.returncode == 0, output
    return output
