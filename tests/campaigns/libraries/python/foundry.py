"""forge and cast as subprocesses, with a home folder of this run."""

import json
import os
import secrets
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from libraries.python.flows import URL

FOLDER = Path(tempfile.mkdtemp(prefix="foundry-"))
_PROGRAMS = {name: os.environ[f"LIBRARY_{name.upper()}"] for name in ("forge", "cast")}
_TIME = 90.0


class CommandFailed(Exception):
    """A command ended with an error; the text is its last output."""


def command(program: str, name: str, *arguments: str, **variables: str) -> str:
    """Run a command of forge or cast with the URL of the node; return its standard output."""
    ended = subprocess.run(
        # The URL is the first option, as arguments of a constructor end the options.
        [_PROGRAMS[program], name, "--rpc-url", URL, *arguments],
        env={**os.environ, "HOME": str(FOLDER), **variables},
        cwd=FOLDER,
        capture_output=True,
        text=True,
        timeout=_TIME,
        check=False,
    )
    if ended.returncode:
        raise CommandFailed((ended.stderr or ended.stdout)[-400:])
    return ended.stdout.strip()


def start(program: str, *arguments: str, url: str) -> "subprocess.Popen[str]":
    """Start a command that does not end by itself; its standard output is a pipe."""
    return subprocess.Popen(
        [_PROGRAMS[program], *arguments, "--rpc-url", url],
        env={**os.environ, "HOME": str(FOLDER)},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )


def cast(name: str, *arguments: str) -> str:
    """Run cast."""
    return command("cast", name, *arguments)


def sent(*arguments: str, key: str) -> Any:
    """Run `cast send` and return the receipt, which must be of a successful transaction."""
    receipt = json.loads(cast("send", "--private-key", key, "--json", *arguments))
    if receipt["status"] != "0x1":
        raise CommandFailed(f"status of the receipt is {receipt['status']}")
    return receipt


def called(address: str, signature: str, *arguments: str) -> int:
    """Run `cast call` of a function that returns a number."""
    return int(cast("call", address, signature, *arguments).split()[0])


def stranger() -> str:
    """Return a new address."""
    return f"0x{secrets.token_hex(20)}"
