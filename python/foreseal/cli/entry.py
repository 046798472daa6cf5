"""Entry point of the command: installs signal handlers first, then imports the slow modules."""

import gc
import signal
import sys
from types import FrameType

from foreseal.cli.exit_codes import INTERRUPTED

_SERVING = ("dev", "run")


def main() -> None:
    """Run the command line and exit: 0 success, 1 failure, 2 usage error, 130 interrupted by SIGINT or SIGTERM."""
    if len(sys.argv) > 1 and sys.argv[1] in _SERVING:
        stop_quietly_from_now()
        # Imports create no garbage worth a collection; `configure_interpreter` enables it again.
        gc.disable()
    else:
        signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        from foreseal.cli.main import run

        code = run()
    except KeyboardInterrupt:
        code = INTERRUPTED
    sys.exit(code)


def stop_quietly_from_now() -> None:
    """Exit 0 on SIGINT and SIGTERM until the server installs its own handlers."""

    def exit_quietly(_signal: int, _frame: FrameType | None) -> None:
        sys.exit(0)

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, exit_quietly)
