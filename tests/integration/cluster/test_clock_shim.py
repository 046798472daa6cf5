"""The wall clock of a process jumps while its monotonic clock and sleeps stay true."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from clock_shim import build_shim, clock_environment, set_clock

_PROGRAM = "import time\nwhile input():\n time.sleep(0.01)\n print(time.time(), time.monotonic(), flush=True)"


def test_wall_clock_of_a_running_process_jumps(tmp_path: Path) -> None:
    library = build_shim(tmp_path)
    if library is None:
        pytest.skip("a C compiler is not installed")
    file = tmp_path / "clock"
    environment = os.environ | clock_environment(library, file)
    command = (sys.executable, "-c", _PROGRAM)
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for jump in (0, 600, -600):
            set_clock(file, jump)
            process.stdin.write("x\n")
            process.stdin.flush()
            wall, monotonic = map(float, process.stdout.readline().split())
            assert abs(wall - time.time() - jump) < 30
            assert abs(monotonic - time.monotonic()) < 30
        process.stdin.close()
        process.wait(10)
