"""Runs the command `foreseal` to its end."""

import subprocess
from typing import Any

from live.process import foreseal_command

SECONDS = 60


def foreseal(*arguments: object, seconds: float = SECONDS, **more: Any) -> subprocess.CompletedProcess[str]:
    """Run one command for at most `seconds`; return its exit code, standard output and standard error."""
    return subprocess.run(
        [foreseal_command(), *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=seconds,
        check=False,
        **more,
    )
