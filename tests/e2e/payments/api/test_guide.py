"""The commands of docs/service.md, executed in order in one shell."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import orjson

from distribution.pages import blocks
from distribution.walk import free_port
from foreseal.payments.api.errors import CODES
from foreseal.payments.api.routes import ROUTES
from live.blocks import wait_for
from live.process import is_ok
from repository import DOCS

PAGE = DOCS / "service.md"
_FILE = re.compile(r"# (\S+\.(?:py|toml))\n")
_SERVER = re.compile(r"foreseal (?:dev|pay serve)\b")
_SECONDS = 60


class Reader:
    """Executes the page in a folder; servers that it starts run until the end."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.printed: dict[str, str] = {}
        self.ports = {"8545": free_port(), "8600": free_port()}
        self.servers: list[subprocess.Popen[bytes]] = []
        self._shell = folder / "shell"
        self._shell.touch()
        beside = Path(sys.executable).parent
        path = f"{beside}:{os.environ['PATH']}"
        self._variables = os.environ | {"PATH": path, "FORESEAL_PORT": str(self.ports["8545"])}

    def do(self, command: str) -> None:
        """Run one command, or start a server and wait until it responds."""
        keep = shlex.quote(str(self._shell))
        script = f"set -aeo pipefail\n. {keep}\n{'exec ' if _SERVER.match(command) else ''}{self.here(command)}\n"
        if _SERVER.match(command):
            self._start(["bash", "-c", script], "8600" if "serve" in command else "8545")
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

    def here(self, text: str) -> str:
        """Replace ports by free ones."""
        for meant, port in self.ports.items():
            text = text.replace(f":{meant}", f":{port}")
        return text

    def _start(self, command: list[str], port: str) -> None:
        log = (self.folder / f"{port}.log").open("wb")
        with log:
            server = subprocess.Popen(command, cwd=self.folder, env=self._variables, stdout=log, stderr=log)
        self.servers.append(server)

        def answers() -> bool:
            assert server.poll() is None, (self.folder / f"{port}.log").read_text()
            return is_ok(f"http://127.0.0.1:{self.ports[port]}/healthz")

        wait_for(answers, _SECONDS, command[-1])

    def stop(self) -> list[int]:
        """Stop the servers and return their exit codes."""
        for server in reversed(self.servers):
            server.terminate()
            server.wait(_SECONDS)
        return [server.returncode for server in self.servers]


def test_the_guide_does_what_it_says(tmp_path: Path) -> None:
    reader = Reader(tmp_path)
    try:
        for block in blocks(PAGE):
            named = _FILE.match(block.text)
            if named:
                listen = f'[serve]\nlisten = "127.0.0.1:{reader.ports["8600"]}"\n'
                (tmp_path / named[1]).write_text(reader.here(block.text).replace("[serve]\n", listen))
            elif block.language == "python":
                exec(block.text, {})
            for command in block.commands:
                reader.do(command)
        codes = reader.stop()
    finally:
        for server in reader.servers:
            server.kill()
            server.wait()
    assert codes == [0, 0]
    said = {command.split("/v1/")[1].split()[0]: text for command, text in reader.printed.items() if "/v1/" in command}
    assert orjson.loads(said["orders/7/refunds"])["refund"]["amount"] == "2340000"
    assert orjson.loads(said["orders/7/timeline"])["items"][-1]["data"]["object"]["state"] == "Used, captured"
    assert "captured,0x" in said["export.csv"]


def test_the_guide_names_every_path_and_only_codes_that_there_are() -> None:
    text = PAGE.read_text()
    for route in ROUTES:
        path = route.path.removeprefix("/v1")
        assert path in text or path.replace("/orders/{id}", "") in text or path.rpartition("/")[2] in text, path
    table = text[text.index("| 409 |") : text.index("| 413")]
    assert set(re.findall(r"`(not_\w+)`", table)) <= set(CODES)
