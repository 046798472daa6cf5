"""How long to wait before a process that died is started again."""

# Seconds that a process must have worked for its death to count as one of its own.
WORKED = 1.0
_FIRST, _LONGEST = 0.1, 10.0


class Backoff:
    """Nothing for a process that had worked, more and more for one that dies at once, again and again."""

    def __init__(self) -> None:
        self._at_once = 0

    def next(self, worked: float) -> float:
        """Seconds to wait now that a process has died that had been ready for `worked` seconds."""
        if worked >= WORKED:
            self._at_once = 0
            return 0.0
        self._at_once += 1
        return min(_FIRST * 2.0 ** min(self._at_once - 1, 16), _LONGEST)
