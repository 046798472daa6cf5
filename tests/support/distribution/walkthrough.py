"""A new user's walk: the documentation followed literally, on a machine with the wheel, Python and no Rust.

The commands of a page run in order in one shell; its files are written to their paths. Three things differ from the
user's machine: the contents of `/opt`, `/etc`, `/var/lib` and `/backup` are below a local folder, the ports are free
ones, and systemd is simulated: the unit's commands run directly.
"""

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

import orjson

from distribution.pages import Block, blocks
from foreseal.ports import next_free_port
from live.blocks import wait_for

PAGES = ("README.md", "docs/operate/operations.md", "docs/operate/access.md", "docs/build/streams.md")
"""Pages that a user of the wheel reads first, in this order."""
EXAMPLES = ("docs/build/client.md", "docs/build/testing.md")
"""More pages, with examples in Python."""
STEP_TIME = 300
"""Maximum seconds of one command."""

_FOLDERS = ("opt", "etc/systemd/system", "var/lib", "backup", "home")
_ELSEWHERE = re.compile(r"(?<![\w/.])/(?=(?:opt|etc|var/lib|backup)(?:/|\b))")
_NODE = re.compile(r"foreseal (?:dev|run)\b")
_CLONE = re.compile(r"(?:make|npm|cargo) ")
# Packages that the pages require for their examples, in addition to Foreseal.
_FOR_EXAMPLES = "pip install --quiet web3 websockets pytest"
_KEPT = ("LANG", "PIP_CERT", "PIP_INDEX_URL", "PIP_CONFIG_FILE", "SSL_CERT_FILE")


@dataclass(frozen=True, slots=True)
class Taken:
    """A command of a page as executed, and its output."""

    place: str
    command: str
    printed: str


class Walkthrough:
    """Follows pages, one after the other. A failing command raises AssertionError with its output.

    A context manager: at its end the running node is stopped, and must exit with 0.
    """

    def __init__(self, folder: Path, wheel: Path) -> None:
        """`folder` is new; `wheel` is the user's wheel."""
        self.taken: list[Taken] = []
        self._root, self._home = folder, folder / "home"
        for name in _FOLDERS:
            (folder / name).mkdir(parents=True)
        # The README installs it from the folder of the build, the guides from the current folder.
        (self._home / "dist").mkdir()
        for copied in (self._home, self._home / "dist"):
            shutil.copy(wheel, copied / wheel.name)
        self._shell = folder / "shell"
        self._shell.touch()
        self._node: subprocess.Popen[str] | None = None
        self._ports = {"8545": next_free_port(), "8546": next_free_port()}
        python = folder / "python3"
        python.write_text(f'#!/bin/sh\nexec {sys.base_prefix}/bin/python3 "$@"\n')
        python.chmod(0o755)
        kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
        self._variables = kept | {
            "HOME": str(self._home),
            # The wheels of the dependencies are downloaded once for all walks.
            "PIP_CACHE_DIR": str(Path.home() / ".cache" / "pip"),
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
            "PATH": f"{folder}:/usr/bin:/bin",
            "FORESEAL_PORT": str(self._ports["8545"]),
        }
        for program in ("cargo", "rustc"):
            assert not self._has(program), f"{program} is on the PATH of the walk"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if kind is None:
            self.stop()
        elif self._node is not None:
            self._node.kill()
            self._node.wait()

    def follow(self, page: Path, *, examples: bool = False) -> None:
        """Run the page's commands, with its Python examples if `examples`; started programs run on for later pages."""
        for block in blocks(page):
            if block.file is not None:
                self._here(block.file).write_text(self._translated(block.text))
            for command in block.commands:
                # Commands in a clone, which this user does not have, are skipped.
                if not _CLONE.match(command):
                    self._do(block, self._translated(command))
            # The examples of the client's page depend on each other and on names that a test defines.
            if examples and block.language == "python" and page.name != "client.md":
                self._example(block)

    def stop(self, number: int = signal.SIGTERM) -> None:
        """Stop the running node, if there is one; it must exit with 0."""
        if self._node is None:
            return
        node, self._node = self._node, None
        node.send_signal(number)
        try:
            code = node.wait(STEP_TIME)
        finally:
            node.kill()
        assert code == 0, f"the node ended with {code}:\n{self._log.read_text()}"

    @property
    def _log(self) -> Path:
        return self._root / "node.log"

    def _do(self, block: Block, command: str) -> None:
        if _NODE.match(command):
            # A reader presses Ctrl-C before the next command.
            self.stop(signal.SIGINT)
            printed = self._start(self._in_shell(f"exec {command}"), self._variables)
        elif command.startswith("systemctl "):
            printed = self._systemctl(command.split()[1:])
        else:
            printed = self._run(block, command)
        self.taken.append(Taken(block.place, command, printed))

    def _example(self, block: Block) -> None:
        file = self._home / "test_example.py"
        file.write_text(self._translated(block.text))
        if not self._has_examples():
            self._do(block, _FOR_EXAMPLES)
        self._do(block, f"{'pytest -q' if 'def test_' in block.text else 'python'} {file.name}")

    def _has_examples(self) -> bool:
        process = subprocess.run(self._in_shell("python -c 'import web3'"), env=self._variables, capture_output=True)
        return process.returncode == 0

    def _in_shell(self, command: str) -> list[str]:
        """Return the command in the shell with the state of earlier commands."""
        keep = shlex.quote(str(self._shell))
        return ["bash", "-c", f"set -aeo pipefail\n. {keep}\n{command}\nexport -p >{keep}"]

    def _run(self, block: Block, command: str) -> str:
        done = subprocess.run(
            self._in_shell(command),
            cwd=self._home,
            env=self._variables,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=STEP_TIME,
        )
        said = f"{block.place}: {command}\n{done.stdout}"
        assert done.returncode == 0, f"exit code {done.returncode}: {said}"
        if '"jsonrpc"' in command:
            assert "result" in orjson.loads(done.stdout), said
        return done.stdout

    def _start(self, command: list[str], variables: dict[str, str]) -> str:
        with self._log.open("w") as log:
            self._node = node = subprocess.Popen(
                command, cwd=self._home, env=variables, stdout=log, stderr=subprocess.STDOUT, text=True
            )
        ready = f"http://127.0.0.1:{self._ports['8545']}/readyz"

        def is_ready() -> bool:
            assert node.poll() is None, f"the node ended with {node.returncode}:\n{self._log.read_text()}"
            return subprocess.run(["curl", "-sf", ready], capture_output=True).returncode == 0

        wait_for(is_ready, STEP_TIME, "the node", self._log.read_text)
        return self._log.read_text()

    def _systemctl(self, arguments: list[str]) -> str:
        """Simulate systemd's actions on the unit, except for users and sandboxing."""
        match arguments:
            case ["daemon-reload"]:
                return ""
            case ["stop", "foreseal"]:
                self.stop()
                return ""
            case ["start", "foreseal"]:
                self.stop(signal.SIGINT)
                unit = (self._root / "etc/systemd/system/foreseal.service").read_text()
                (started,) = re.findall(r"^ExecStart=(.*)$", unit, re.MULTILINE)
                return self._start(shlex.split(started), self._variables)
        raise AssertionError(f"systemctl {' '.join(arguments)} is not known to the walk")

    def _translated(self, text: str) -> str:
        for meant, port in self._ports.items():
            text = text.replace(f":{meant}", f":{port}")
        return _ELSEWHERE.sub(f"{self._root}/", text)

    def _here(self, path: str) -> Path:
        return Path(self._translated(path))

    def _has(self, program: str) -> bool:
        return shutil.which(program, path=self._variables["PATH"]) is not None
