"""Interpreter settings of a serving process."""

import gc

from foreseal.server.logs import configure_logs
from foreseal.server.settings.model import LogSettings

# Thresholds of the garbage collector's generations. A step with many subscribers allocates more than Python's default
# of 700 objects every time, none of them cyclic garbage.
_COLLECTED = (20_000, 20, 50)


def configure_interpreter(log: LogSettings) -> None:
    """Configure logs to standard error, and exempt imported objects from garbage collection.

    An entry point that imports for a tenth of a second may disable the collection until then.
    """
    configure_logs(log.level, log.format, log.process)
    gc.freeze()
    gc.set_threshold(*_COLLECTED)
    gc.enable()
