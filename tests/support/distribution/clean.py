"""An environment with only the wheel and its dependencies."""

import os
import subprocess
import sys
import venv
from collections.abc import Sequence
from pathlib import Path

_KEPT = ("HOME", "LANG", "PIP_INDEX_URL", "PIP_CONFIG_FILE", "SSL_CERT_FILE", "TMPDIR")


class CleanEnvironment:
    """A virtual environment, used with a PATH without Rust or the developer's compilers."""

    def __init__(self, folder: Path) -> None:
        venv.create(folder)
        self.bin = folder / "bin"
        self.variables = {name: os.environ[name] for name in _KEPT if name in os.environ}
        # Python itself may be next to Rust; the environment has its own link to Python.
        self.variables |= {"PATH": f"{self.bin}:/usr/bin:/bin", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}

    @property
    def command(self) -> str:
        """The installed `foreseal`."""
        return str(self.bin / "foreseal")

    def install(self, *what: str | Path) -> None:
        """Install wheels or names without building anything."""
        # The pip of the tests. Modules are compiled at their first import: most of a large package never is.
        pip = [sys.executable, "-m", "pip", "--python", str(self.bin / "python")]
        self.run([*pip, "install", "--quiet", "--no-compile", "--only-binary", ":all:", *map(str, what)])

    def python(self, code: str, *options: str) -> str:
        """Return the output of `code` in the environment."""
        return self.run([str(self.bin / "python"), *options, "-c", code])

    def isolated(self, *command: str, **variables: str) -> list[str]:
        """Return a command that runs with the variables of the environment only, and `variables`."""
        return [
            "/usr/bin/env",
            "-i",
            *(f"{name}={value}" for name, value in (self.variables | variables).items()),
            *command,
        ]

    def run(self, command: Sequence[str], cwd: Path | None = None) -> str:
        """Return the standard output of a command that must exit with 0."""
        done = subprocess.run(command, env=self.variables, capture_output=True, text=True, cwd=cwd or self.bin.parent)
        assert done.returncode == 0, f"{command} exited with {done.returncode}:\n{done.stdout}{done.stderr}"
        return done.stdout

    def has(self, program: str) -> bool:
        """Return True if a program of this name is on its PATH."""
        folders = self.variables["PATH"].split(":")
        return any((Path(folder) / program).exists() for folder in folders)
