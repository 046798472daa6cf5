"""How the Python of a process that serves is set up."""

import gc

from foreseal.server.logs import configure_logs
from foreseal.server.settings.model import LogSettings

# Objects that come and stay until the collector looks at them, and how often it then looks at older ones. A step that
# many connections hear of makes more than Python's 700 every time, none of them garbage that needs a collector.
_COLLECTED = (20_000, 20, 50)


def set_up(log: LogSettings) -> None:
    """Log to standard error; what was imported stays."""
    configure_logs(log.level, log.format, log.process)
    gc.freeze()
    gc.set_threshold(*_COLLECTED)
