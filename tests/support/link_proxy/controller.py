"""Starts the process of the links, and controls it."""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from link_proxy.link import OPEN, LinkState
from repository import PYTHONPATH


class LinkProxies:
    """Named links in a process of their own, which runs on while others are paused. Safe for several threads."""

    def __init__(self) -> None:
        search = os.pathsep.join(filter(None, (PYTHONPATH, os.environ.get("PYTHONPATH"))))
        self._process = subprocess.Popen(
            (sys.executable, "-m", "link_proxy"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | {"PYTHONPATH": search},
            # Ctrl-C must not end the links before the processes that use them.
            start_new_session=True,
        )
        self._lock = threading.Lock()
        self._states: dict[str, LinkState] = {}

    def add(self, name: str, target: int, port: int = 0) -> int:
        """Add a link to a loopback port and return the port to connect to."""
        bound_port = int(self._call("add", name=name, target=target, port=port)["port"])
        self._states[name] = OPEN
        return bound_port

    @property
    def names(self) -> list[str]:
        """Names of all links."""
        return list(self._states)

    def set_state(self, names: Iterable[str], state: LinkState) -> None:
        """Apply a state to links; it holds when this returns."""
        for name in names:
            self._states[name] = state
            self._call("set", name=name, state=asdict(state))

    def heal(self, *, reset: bool = False) -> None:
        """Open all links that are not. With `reset` their connections end, otherwise bytes that waited arrive."""
        for name in [name for name, state in self._states.items() if state != OPEN]:
            if reset:
                self._call("reset", name=name)
            self.set_state([name], OPEN)

    def close(self) -> None:
        """End the process and all connections."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(10)
        assert self._process.stdout is not None
        self._process.stdout.close()

    def _call(self, command: str, **arguments: Any) -> dict[str, Any]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with self._lock:
            self._process.stdin.write(json.dumps({"command": command, **arguments}) + "\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        if not line:
            raise RuntimeError("the process of the links has ended")
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise OSError(answer["error"])
        return answer
