"""Serves a double of the core on a socket, in a separate process.

Usage: `python transport_process.py TRANSPORT PORT SECONDS_TO_OPEN SECONDS_OF_SLOW_CALLS MS_OF_DRAIN_DELAY`.
"""

import sys
import threading
from pathlib import Path
from typing import Any

from foreseal.cli.entry import stop_quietly_from_now
from foreseal.server import App, Settings, runner
from foreseal.server.runner import serve
from foreseal.server.sockets.address import AddressError

from fake_core import FakeNode

TRANSPORT, PORT = sys.argv[1], int(sys.argv[2])
SECONDS_TO_OPEN, SECONDS_OF_SLOW_CALLS, DRAIN_DELAY = float(sys.argv[3]), float(sys.argv[4]), int(sys.argv[5])


_SIGNALLED = threading.Event()
"""Ends the opening of the node once the runner received a signal."""


def observe_signals() -> None:
    """Set `_SIGNALLED` when the runner's handler of a signal sets its event."""
    register = runner._on

    def observed(*numbers: int, again: Any = None) -> Any:
        event = register(*numbers, again=again)
        set_event = event.set

        def both() -> None:
            set_event()
            _SIGNALLED.set()

        event.set = both  # type: ignore[method-assign]
        return event

    runner._on = observed


class ReportingNode(FakeNode):
    """Reports its start and stop on standard output."""

    def __init__(self, settings: bytes) -> None:
        print("opening", flush=True)
        _SIGNALLED.wait(SECONDS_TO_OPEN)
        super().__init__(settings)
        self.hold = SECONDS_OF_SLOW_CALLS > 0

    def call(self, method: str, params: bytes, ticket: int, caller: object = None) -> bytes | None:
        result = super().call(method, params, ticket)
        if self.hold and result is None:
            timer = threading.Timer(SECONDS_OF_SLOW_CALLS, self.release)
            timer.daemon = True
            timer.start()
        return result

    def start(self) -> None:
        print("started", flush=True)

    def stop(self) -> None:
        print("stopped", flush=True)


if __name__ == "__main__":
    stop_quietly_from_now()
    observe_signals()
    app = App(Settings(Path("unused"), drain_delay=DRAIN_DELAY), make_node=ReportingNode)
    try:
        serve(app, "127.0.0.1", PORT, lambda url: print(url, flush=True), transport=TRANSPORT)
    except AddressError as error:
        sys.exit(str(error))
