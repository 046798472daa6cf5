"""Executes the commands of a guide in docs/, in order and in one shell."""

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from distribution.pages import blocks
from foreseal.ports import next_free_port
from live.blocks import wait_for
from live.process import is_ok

_FILE = re.compile(r"# (\S+\.(?:py|toml))\n")
_SERVER = re.compile(r"foreseal (?:dev|cluster dev|pay serve)\b")
_SHOP = re.compile(r"foreseal pay demo --shop$")
_SECONDS = 60


class GuideReader:
    """Executes the page in a folder; servers that it starts run until the end."""

    def __init__(self, folder: Path, variables: Mapping[str, str] | None = None) -> None:
        """`variables` are those of the environment to test, by default the one of this Python."""
        self.folder = folder
        self.printed: dict[str, str] = {}
        self.outputs: list[tuple[str, str]] = []
        """Each command that was run, in order, with its output."""
        self.ports = {"8545": next_free_port(), "8600": next_free_port()}
        self.servers: list[subprocess.Popen[bytes]] = []
        self._shell = folder / "shell"
        self._shell.touch()
        if variables is None:
            variables = os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
        self._variables = {**variables, "FORESEAL_PORT": str(self.ports["8545"])}

    def follow(self, page: Path) -> None:
        """Write the files of a page and run its commands."""
        for block in blocks(page):
            named = _FILE.match(block.text)
            if named:
                listen = f'[serve]\nlisten = "127.0.0.1:{self.ports["8600"]}"\n'
                (self.folder / named[1]).write_text(self.here(block.text).replace("[serve]\n", listen))
            elif block.language == "python":
                exec(block.text, {})
            for command in block.commands:
                self.do(command)

    def kill(self) -> None:
        """Kill the servers that still run."""
        for server in self.servers:
            server.kill()
            server.wait()

    def do(self, command: str) -> None:
        """Run one command, or start a server and wait until it responds."""
        is_server = _SERVER.match(command) or _SHOP.match(command)
        keep = shlex.quote(str(self._shell))
        script = f"set -aeo pipefail\n. {keep}\n{'exec ' if is_server else ''}{self.here(command)}\n"
        if _SERVER.match(command):
            meant, path = ("8600", "/healthz") if "serve" in command else ("8545", "/readyz")
            self._start(["bash", "-c", script], self.ports[meant], path)
            return
        if _SHOP.match(command):
            port = str(next_free_port())
            self._start(["bash", "-c", f"{script.rstrip()} --port {port}"], port, "/")
            return
        done = subprocess.run(
            ["bash", "-c", f"{script}export -p >{keep}"],
            cwd=self.folder,
            env=self._variables,
            capture_output=True,
            text=True,
            timeout=_SECONDS,
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
        self.printed[command] = done.stdout
        self.outputs.append((command, done.stdout))

    def here(self, text: str) -> str:
        """Replace ports by free ones."""
        for meant, port in self.ports.items():
            text = text.replace(f":{meant}", f":{port}")
        return text

    def _start(self, command: list[str], port: int | str, path: str) -> None:
        log = (self.folder / f"{port}.log").open("wb")
        with log:
            server = subprocess.Popen(command, cwd=self.folder, env=self._variables, stdout=log, stderr=log)
        self.servers.append(server)

        def answers() -> bool:
            assert server.poll() is None, (self.folder / f"{port}.log").read_text()
            return is_ok(f"http://127.0.0.1:{port}{path}")

        wait_for(answers, _SECONDS, command[-1])

    def stop(self) -> list[int]:
        """Stop the servers and return their exit codes."""
        for server in reversed(self.servers):
            server.terminate()
            server.wait(_SECONDS)
        return [server.returncode for server in self.servers]
