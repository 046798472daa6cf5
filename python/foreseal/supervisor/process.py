"""Where a process that the supervisor started begins: `python -m foreseal.supervisor.process NAME`."""

import ctypes
import os
import signal
import sys
from collections.abc import Callable
from typing import Any

_PR_SET_PDEATHSIG = 1


def end_with_parent() -> None:
    """Be killed when the process that started this one ends. Raises OSError."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def main(make_node: Callable[[bytes], Any] | None = None) -> None:
    """Do what standard input says and exit: 0 told to stop, 1 failed, 2 to be told otherwise.

    `make_node` puts a double in the place of the core's node.
    """
    # Before anything that takes time: nobody would end this process if its parent died meanwhile.
    end_with_parent()
    # Signals of the terminal reach the whole group; what they mean here is the supervisor's to say.
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    told = sys.stdin.buffer.read()

    from foreseal.supervisor.handover import Handover
    from foreseal.supervisor.roles import fill

    handover = Handover.decode(told)
    if os.getppid() != handover.supervisor:
        sys.exit(1)
    sys.exit(fill(handover, make_node))


if __name__ == "__main__":
    main()
