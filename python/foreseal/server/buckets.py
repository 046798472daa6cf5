"""Memory for the rates of callers that several processes share. Needs nothing but the standard library."""

import fcntl
import os

# As the crate `buckets` has it: a head that begins with a secret, then 8 bytes for each slot.
_HEAD, _SECRET, _SLOT = 64, 32, 8
_LINE = 8


def slots(callers: int) -> int:
    """Slots of a table for so many callers: a multiple of 8."""
    return -(-callers // _LINE) * _LINE


def shared_memory(callers: int) -> int:
    """A descriptor of memory for the buckets of so many callers; whoever inherits it shares them. Raises OSError.

    It cannot be made smaller: nobody who has it can take the memory from the others.
    """
    fd = os.memfd_create("foreseal-buckets", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    os.write(fd, os.urandom(_SECRET))
    os.ftruncate(fd, _HEAD + _SLOT * slots(callers))
    fcntl.fcntl(fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW)
    return fd
