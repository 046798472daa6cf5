"""A command on a pseudo-terminal, and its screen as text."""

import contextlib
import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import termios
import threading
from collections.abc import Iterator, Mapping, Sequence

from live.blocks import wait_for

SECONDS = 60.0
_HOME = "\x1b[H"
_SEQUENCE = re.compile(r"\x1b(?:\[[0-9;?]*[A-Za-z]|[()][A-Z0-9]|[=>])")


class Terminal:
    """A running command whose standard input, output and error are one terminal."""

    def __init__(self, command: Sequence[str], columns: int, lines: int, environment: Mapping[str, str]) -> None:
        self._master, slave = pty.openpty()
        self.resize(columns, lines)
        self.process = subprocess.Popen(
            command, stdin=slave, stdout=slave, stderr=slave, env=environment, start_new_session=True
        )
        os.close(slave)
        self.printed = ""
        """Everything that the command wrote."""
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def resize(self, columns: int, lines: int) -> None:
        """Change the size of the terminal."""
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def press(self, keys: str) -> None:
        """Type keys."""
        os.write(self._master, keys.encode())

    def echoes(self) -> bool:
        """Return True if the terminal shows the keys that are typed."""
        flags: int = termios.tcgetattr(self._master)[3]
        return bool(flags & termios.ECHO)

    def screen(self) -> list[str]:
        """Return the lines of the last complete frame, without styles."""
        frames = self.printed.split(_HOME)
        # The last one may be incomplete, and the first one precedes the view.
        frame = frames[-2] if len(frames) > 2 else ""
        return _SEQUENCE.sub("", frame).replace("\r", "").split("\n")

    def wait_for_text(self, text: str) -> list[str]:
        """Wait until the screen shows a text, and return its lines."""

        def find() -> list[str] | None:
            lines = self.screen()
            return lines if any(text in line for line in lines) else None

        return wait_for(find, SECONDS, f"screen with {text!r}", lambda: "\n".join(self.screen()))

    def close(self) -> None:
        """Kill the command if it runs, and close the terminal."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self._reader.join()
        os.close(self._master)

    def _read(self) -> None:
        while True:
            readable, _, _ = select.select([self._master], [], [], SECONDS)
            try:
                data = os.read(self._master, 1 << 16) if readable else b""
            except OSError:  # the command has ended
                return
            if not data:
                return
            self.printed += data.decode(errors="replace")


@contextlib.contextmanager
def terminal(command: Sequence[str], columns: int = 80, lines: int = 24, **environment: str) -> Iterator[Terminal]:
    """Run a command on a terminal; it is killed at the end if it still runs."""
    inherited = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES", "NO_COLOR")}
    running = Terminal(command, columns, lines, inherited | {"TERM": "xterm-256color"} | environment)
    try:
        yield running
    finally:
        running.close()
