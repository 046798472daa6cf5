"""The executable under test, which is any build of the node."""

import os
import subprocess
import sys
from functools import cached_property
from pathlib import Path

from repository import PYTHONPATH

TRANSPORTS = ("native", "asgi")
_COMMAND_TIME = 120.0


class Build:
    """A `foreseal` executable; its option names are read from its help."""

    def __init__(self, executable: Path) -> None:
        if not executable.exists():
            raise FileNotFoundError(f"{executable}: no such executable; run `make build`")
        self.executable = executable

    @classmethod
    def beside(cls) -> "Build":
        """Return the executable of this Python environment."""
        return cls(Path(sys.executable).with_name("foreseal"))

    def run(self, *arguments: object, timeout: float = _COMMAND_TIME) -> subprocess.CompletedProcess[str]:
        """Run a command to its end."""
        command = [str(self.executable), *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=timeout, env=environment())

    @cached_property
    def help(self) -> str:
        """The full help of `foreseal run`; builds without `--help-all` show it with `--help`."""
        return self.run("run", "--help-all").stdout or self.run("run", "--help").stdout

    def has_option(self, name: str) -> bool:
        """Return `True` if `foreseal run` has this option."""
        return name in self.help

    def transport_options(self, transport: str) -> list[str]:
        """Return the options that choose a transport."""
        return ["--transport", transport]

    @cached_property
    def commit(self) -> str | None:
        """Return the commit of the checkout that contains the executable."""
        folder = str(self.executable.absolute().parent)
        process = subprocess.run(
            ["git", "-C", folder, "rev-parse", "HEAD"], capture_output=True, text=True, check=False
        )
        return process.stdout.strip() or None


def environment() -> dict[str, str]:
    """Return this process's variables without those that are settings of a node."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("FORESEAL_", "PYTHONPATH"))}


def child_environment() -> dict[str, str]:
    """Return the variables of a helper process of the campaign."""
    return {**environment(), "PYTHONPATH": PYTHONPATH, "PYTHONUNBUFFERED": "1"}


def helper(module: str, *arguments: object) -> list[str]:
    """Return the command of a helper process."""
    return [sys.executable, "-m", f"hostile.{module}", *map(str, arguments)]
