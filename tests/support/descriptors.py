"""Open descriptors of this process."""

import os
from collections import Counter
from contextlib import suppress


def descriptors() -> Counter[str]:
    """Return the targets of this process's descriptors, such as `socket:[4711]`, with their counts."""
    counts: Counter[str] = Counter()
    for number in os.listdir("/proc/self/fd"):
        # The listing's own descriptor is closed by now.
        with suppress(FileNotFoundError):
            counts[os.readlink(f"/proc/self/fd/{number}")] += 1
    return counts
