"""Delay before a process that died is restarted."""

# Seconds that a process must have been ready for its death not to count as a failed start.
MIN_UPTIME = 1.0
_FIRST, _LONGEST = 0.1, 10.0


class RestartBackoff:
    """Restart delay: none after a process that had worked, growing exponentially with consecutive failed starts."""

    def __init__(self) -> None:
        self._at_once = 0

    def next(self, worked: float) -> float:
        """Return the seconds to wait after the death of a process that had been ready for `worked` seconds."""
        if worked >= MIN_UPTIME:
            self._at_once = 0
            return 0.0
        self._at_once += 1
        return min(_FIRST * 2.0 ** min(self._at_once - 1, 16), _LONGEST)
