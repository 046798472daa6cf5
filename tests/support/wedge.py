"""Wedges a thread so that no signal ends it."""

import ctypes

# Larger than a mutex of any C library; all zeros are an unlocked one.
_SIZE = 128


def lock_up() -> None:
    """Block forever while holding the interpreter's lock: no other Python thread runs any more."""
    library, mutex = ctypes.PyDLL(None), ctypes.create_string_buffer(_SIZE)
    library.pthread_mutex_lock(mutex)
    library.pthread_mutex_lock(mutex)
