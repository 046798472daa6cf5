"""A supervisor and its processes under test."""

import contextlib
import http.client
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson

from foreseal.server.sockets.tls import TlsFiles
from live.blocks import wait_for
from live.group import group_of
from repository import PYTHONPATH

HERE = Path(__file__).parent
SECONDS = 60
JSON = {"content-type": "application/json"}


class Group:
    """A running supervisor."""

    def __init__(self, datadir: Path, workers: int = 2, tls: TlsFiles | None = None, **times: int) -> None:
        datadir.mkdir(exist_ok=True)
        self.datadir = datadir
        self.workers = workers
        self.process = subprocess.Popen(
            [sys.executable, str(HERE / "supervised.py"), str(datadir), str(workers)]
            + ([str(tls.cert), str(tls.key)] if tls else []),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=os.environ | {"PYTHONPATH": PYTHONPATH, "TIMES": orjson.dumps(times).decode()},
            text=True,
            start_new_session=True,
        )
        self.logged = ""
        self.port = 0
        self._clients: list[Client] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def listen(self) -> int:
        """Wait until it serves calls and return its port."""
        assert self.process.stdout is not None
        return int(self.process.stdout.readline().rpartition(":")[2])

    def client(self) -> "Client":
        """Open a keep-alive connection, closed at the end."""
        client = Client(self.port)
        self._clients.append(client)
        return client

    def client_of_each(self) -> "dict[int, Client]":
        """Open a connection to each worker; return them by the worker's process ID."""
        clients: dict[int, Client] = {}

        def poll() -> bool:
            client = self.client()
            clients.setdefault(client("pid"), client)
            return len(clients) == self.workers

        wait_for(poll, SECONDS, "answer of each worker")
        return clients

    def end(self, number: int = signal.SIGTERM) -> int:
        """Send it a signal and return its exit code."""
        self.process.send_signal(number)
        return self.wait()

    def wait(self) -> int:
        """Return its exit code; `logged` then has all of its output."""
        code = self.process.wait(SECONDS)
        self._reader.join(SECONDS)
        return code

    def log(self) -> list[tuple[str, int, str]]:
        """Return the events: name of the process, its ID, and its action."""
        path = self.datadir / "log"
        lines = path.read_text().splitlines() if path.exists() else []
        return [(name, int(pid), what) for name, pid, what in map(str.split, lines)]

    def pids(self, name: str) -> list[int]:
        """Return the IDs of the processes that started under a name, in order."""
        return [pid for who, pid, what in self.log() if (who, what) == (name, "start")]

    def wait_for_beats(self, count: int) -> None:
        """Wait for this many more heartbeats of its processes."""
        beats = self.datadir / "beats"

        def size() -> int:
            return beats.stat().st_size if beats.exists() else 0

        end = size() + count
        wait_for(lambda: size() >= end, SECONDS, "heartbeats", lambda: self.logged)

    def wait_for_log(self, text: str, times: int = 1) -> None:
        """Wait until the supervisor or its processes logged a text this many times."""
        wait_for(lambda: self.logged.count(text) >= times, SECONDS, text, lambda: self.logged)

    def children(self) -> list[int]:
        """Return the running processes of its group other than itself."""
        return [pid for pid in group_of(self.process.pid) if pid != self.process.pid]

    def _read(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.logged += line

    def kill(self) -> None:
        """Kill all of it."""
        for client in self._clients:
            client.close()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(SECONDS)
        self._reader.join(SECONDS)
        for stream in (self.process.stdout, self.process.stderr):
            if stream:
                stream.close()


@contextlib.contextmanager
def running(datadir: Path, workers: int = 2, tls: TlsFiles | None = None, **times: int) -> Iterator[Group]:
    """Run a supervisor whose workers are all ready, and clean up afterwards. `times` are settings in ms."""
    group = Group(datadir, workers, tls, **times)
    try:
        group.port = group.listen()
        group.wait_for_log("process ready", workers + 1)
        yield group
    finally:
        group.kill()


class Client:
    """One keep-alive connection."""

    def __init__(self, port: int) -> None:
        self._line = http.client.HTTPConnection("127.0.0.1", port, timeout=SECONDS)

    def __call__(self, method: str, *params: Any) -> Any:
        """Return the result of a call, or its error object."""
        _, answer = self._request(method, params, {})
        return answer.get("result", answer.get("error"))

    def status(self, method: str, headers: dict[str, str]) -> int:
        """Return the HTTP status of a call with these headers."""
        return self._request(method, (), headers)[0]

    def close(self) -> None:
        self._line.close()

    def _request(self, method: str, params: tuple[Any, ...], headers: dict[str, str]) -> tuple[int, dict[str, Any]]:
        body = orjson.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
        self._line.request("POST", "/", body, JSON | headers)
        response = self._line.getresponse()
        return response.status, orjson.loads(response.read())
