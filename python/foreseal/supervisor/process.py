"""Entry point of a supervised process: `python -m foreseal.supervisor.process NAME`."""

import ctypes
import gc
import os
import signal
import sys
from collections.abc import Callable
from typing import Any

_PR_SET_PDEATHSIG = 1


def end_with_parent() -> None:
    """Have the kernel kill this process when its parent ends. Raises OSError."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def main(make_node: Callable[[bytes], Any] | None = None) -> None:
    """Run the role in the bootstrap message and exit: 0 stopped, 1 failed, 2 invalid settings or use.

    `make_node` creates a test double of the core's node.
    """
    # Before all slow work: if the parent died meanwhile, this process would never end.
    end_with_parent()
    # Signals of the terminal reach the whole process group; the supervisor decides their effect.
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    message = sys.stdin.buffer.read()
    # Imports create no garbage worth a collection; `configure_interpreter` enables it again.
    gc.disable()

    from foreseal.supervisor.bootstrap import BootstrapMessage
    from foreseal.supervisor.roles import run_role

    bootstrap = BootstrapMessage.decode(message)
    if os.getppid() != bootstrap.supervisor:
        sys.exit(1)
    sys.exit(run_role(bootstrap, make_node))


if __name__ == "__main__":
    main()
