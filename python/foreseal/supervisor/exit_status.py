"""Exit status of processes: exit codes and their text."""

import signal

# Exit codes other than 0.
FAILED = 1
USAGE_ERROR = 2


def describe_exit(code: int) -> str:
    """Format an exit code of `subprocess` as text."""
    if code >= 0:
        return f"exit code {code}"
    with_name = {number.value: number.name for number in signal.Signals}
    return with_name.get(-code, f"signal {-code}")
