"""Single keys from a terminal."""

import contextlib
import os
import select
import sys
import termios
import time
import tty
from collections.abc import Iterator

_MAX_KEYS = 64


class Keyboard:
    """Keys that were pressed on standard input; none if it is not a terminal."""

    def __init__(self, descriptor: int | None) -> None:
        """`descriptor` is that of the terminal; None for none."""
        self._descriptor = descriptor

    def read(self, seconds: float) -> str:
        """Wait for keys for at most this time, and return them."""
        if self._descriptor is None:
            time.sleep(seconds)
            return ""
        readable, _, _ = select.select([self._descriptor], [], [], seconds)
        if not readable:
            return ""
        data = os.read(self._descriptor, _MAX_KEYS)
        if not data:
            # The terminal is gone. A select would return at once from now on.
            self._descriptor = None
        return data.decode("ascii", "ignore")


@contextlib.contextmanager
def open_keyboard() -> Iterator[Keyboard]:
    """Read keys without Enter and without echo; the terminal's mode is restored at the end."""
    if not sys.stdin.isatty():
        yield Keyboard(None)
        return
    descriptor = sys.stdin.fileno()
    mode = termios.tcgetattr(descriptor)
    try:
        tty.setcbreak(descriptor)
        yield Keyboard(descriptor)
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, mode)
