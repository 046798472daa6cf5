"""Exit codes beside 0."""

from foreseal.supervisor.endings import FAILED, WRONG_USE

# By SIGINT or SIGTERM, of a command that had not done its work; a server that was told to stop has.
INTERRUPTED = 130

__all__ = ["FAILED", "INTERRUPTED", "WRONG_USE"]
