"""How processes end, as exit codes and in words."""

import signal

# Exit codes beside 0.
FAILED = 1
WRONG_USE = 2


def named(code: int) -> str:
    """An exit code of `subprocess` in words."""
    if code >= 0:
        return f"exit code {code}"
    with_name = {number.value: number.name for number in signal.Signals}
    return with_name.get(-code, f"signal {-code}")
