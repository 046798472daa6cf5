"""Exit codes other than 0."""

from foreseal.supervisor.exit_status import FAILED, USAGE_ERROR

# SIGINT or SIGTERM interrupted a command before its end; a server that stops on a signal exits with 0.
INTERRUPTED = 130

__all__ = ["FAILED", "INTERRUPTED", "USAGE_ERROR"]
