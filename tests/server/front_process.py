"""Serves a double of the core on a socket, in a process of its own: `python front_process.py PORT SECONDS_TO_OPEN
SECONDS_OF_SLOW_CALLS [MS_OF_DRAIN_DELAY]`."""

import sys
import threading
import time
from pathlib import Path

from foreseal.cli.entry import stop_quietly_from_now
from foreseal.server import App, Settings
from foreseal.server.address import AddressError
from foreseal.server.front import serve

from fake_core import FakeNode

PORT, SECONDS_TO_OPEN, SECONDS_OF_SLOW_CALLS = int(sys.argv[1]), float(sys.argv[2]), float(sys.argv[3])
DRAIN_DELAY = int(sys.argv[4]) if len(sys.argv) > 4 else 0


class Told(FakeNode):
    """Says on standard output when it starts and stops."""

    def __init__(self, settings: bytes) -> None:
        print("opening", flush=True)
        time.sleep(SECONDS_TO_OPEN)
        super().__init__(settings)
        self.hold = SECONDS_OF_SLOW_CALLS > 0

    def call(self, method: str, params: bytes, ticket: int) -> bytes | None:
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
    app = App(Settings(Path("unused"), drain_delay=DRAIN_DELAY), make_node=Told)
    try:
        serve(app, "127.0.0.1", PORT, lambda url: print(url, flush=True))
    except AddressError as error:
        sys.exit(str(error))
