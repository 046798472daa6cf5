"""Wedges a thread as no signal ends it."""

import ctypes

# More than a mutex of any C library takes; zeros are one that is free.
_SIZE = 128


def lock_up() -> None:
    """Wait for ever, with the interpreter's lock: no other thread of Python runs any more."""
    library, mutex = ctypes.PyDLL(None), ctypes.create_string_buffer(_SIZE)
    library.pthread_mutex_lock(mutex)
    library.pthread_mutex_lock(mutex)
