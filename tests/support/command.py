"""Runs the command `foreseal` to its end."""

import subprocess
from typing import Any

from live.process import foreseal_command

SECONDS = 60


def foreseal(*arguments: object, **more: Any) -> subprocess.CompletedProcess[str]:
    """Run one command; return its exit code, standard output and standard error."""
    return subprocess.run(
        [foreseal_command(), *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
        **more,
    )
