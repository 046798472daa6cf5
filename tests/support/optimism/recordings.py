"""Recordings of a stock driver and its execution engine, and what a node answers in their place."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import zstandard

from live_node import shared
from optimism.node import OptimismNode

NAMES = ("jovian", "karst", "karst-reorg")
REPLAY_TIME = 240
"""Seconds within which every recording must be replayed."""


def vectors() -> Path:
    """Return the folder of the recordings; skip the test if it is absent."""
    return shared("optimism")


def decompressed(path: Path) -> bytes:
    """Return the content of a compressed file."""
    with path.open("rb") as packed, zstandard.ZstdDecompressor().stream_reader(packed) as stream:
        return stream.read()


def expected_chain(name: str) -> dict[str, Any]:
    """Return the chain that the recorded engine held at the end."""
    chain: dict[str, Any] = orjson.loads(decompressed(vectors() / f"expect-{name}.json.zst"))
    return chain


def replay(node: OptimismNode, kind: str, name: str, *arguments: str) -> str:
    """Replay a recording by the program next to it; return its output, whose last line counts the exchanges."""
    folder = vectors()
    # The program reads a compressed file through zstd, which a machine may lack.
    recording = node.secret_file.with_name(f"{kind}-{name}.jsonl")
    recording.write_bytes(decompressed(folder / f"{kind}-{name}.jsonl.zst"))
    command = [sys.executable, str(folder / "replay.py"), "--engine", node.engine_url, "--jwt", str(node.secret_file)]
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


def differences(expected: Any, answered: Any, path: str) -> Iterator[tuple[str, str]]:
    """Yield the path of each value that differs, and both values. An absent field differs from null."""
    if isinstance(expected, dict) and isinstance(answered, dict):
        for key in sorted(expected.keys() | answered.keys()):
            if key not in answered:
                yield f"{path}.{key}", f"recorded {expected[key]!r}, absent"
            elif key not in expected:
                yield f"{path}.{key}", f"not recorded, answered {answered[key]!r}"
            else:
                yield from differences(expected[key], answered[key], f"{path}.{key}")
    elif isinstance(expected, list) and isinstance(answered, list) and len(expected) == len(answered):
        for index, pair in enumerate(zip(expected, answered, strict=True)):
            yield from differences(*pair, f"{path}[{index}]")
    elif expected != answered or type(expected) is not type(answered):
        yield path, f"recorded {str(expected)[:200]}, answered {str(answered)[:200]}"
