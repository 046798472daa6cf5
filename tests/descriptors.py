"""What this process has open."""

import os
from collections import Counter
from contextlib import suppress


def descriptors() -> Counter[str]:
    """What the descriptors of this process stand for, such as `socket:[4711]`, and how many of them each."""
    found: Counter[str] = Counter()
    for number in os.listdir("/proc/self/fd"):
        # The listing's own is closed by now.
        with suppress(FileNotFoundError):
            found[os.readlink(f"/proc/self/fd/{number}")] += 1
    return found
