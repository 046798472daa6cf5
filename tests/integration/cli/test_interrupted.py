"""SIGINT and SIGTERM during a command that works on a chain: finished work stays, and the command can resume."""

import itertools
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from command import foreseal
from live.process import foreseal_command
from live_node import shared

HEAD = "0xd226371d0b1551adb03fb52b71f08e3e11247fe9b1af994768af8cdaa8e7dcd7"
BLOCKS = 54
# Blocks that the import receives before the signal.
SENT = 20


def blocks_of(chain: bytes) -> Iterator[bytes]:
    """Yield the RLP lists in a chain file, all of them longer than 55 bytes."""
    at = 0
    while at < len(chain):
        digits = chain[at] - 0xF7
        end = at + 1 + digits + int.from_bytes(chain[at + 1 : at + 1 + digits], "big")
        yield chain[at:end]
        at = end


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_import_stops_cleanly_and_resumes_later(tmp_path: Path, number: int) -> None:
    sample = shared("execution-apis")
    blocks = list(blocks_of((sample / "chain.rlp").read_bytes()))
    # After the signal the pipe repeats a block, so that the import cannot reach its end before it notices the signal.
    endless = itertools.chain(blocks[:SENT], itertools.repeat(blocks[SENT - 1]))
    pipe, datadir = tmp_path / "chain.rlp", tmp_path / "data"
    os.mkfifo(pipe)
    command = [foreseal_command(), "import", "--datadir", datadir, "--genesis", sample / "genesis.json", pipe]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            with pipe.open("wb", buffering=0) as file:
                for sent, block in enumerate(endless, 1):
                    file.write(block)
                    if sent == SENT:
                        process.send_signal(number)
        except BrokenPipeError:
            pass
        out, err = process.communicate(timeout=30)
    assert (process.returncode, out) == (130, "")
    assert [line for line in err.splitlines() if line] == [
        "foreseal: interrupted: imported blocks are retained; run the same command to resume"
    ]

    assert foreseal("journal", "check", datadir).returncode == 0
    kept = int(foreseal("export", "--datadir", datadir, tmp_path / "kept.rlp").stdout.split()[1])
    done = foreseal("import", "--datadir", datadir, sample / "chain.rlp")
    assert done.returncode == 0
    words = done.stdout.split()
    imported, known = int(words[1]), int(words[3].removeprefix("("))
    assert imported + known == BLOCKS
    assert 1 <= known == kept <= SENT
    assert done.stdout.endswith(f"head {BLOCKS} {HEAD}\n")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupt_ends_a_run_of_vectors(number: int) -> None:
    archives = [shared("ethereum-tests.tar.zst")] * 50
    command = [foreseal_command(), "blocktest", *archives]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdout is not None
        # A line of output shows that it runs.
        assert process.stdout.readline()
        process.send_signal(number)
        process.communicate(timeout=30)
    assert process.returncode == 130
