"""Shared memory for the rate limits of callers across processes. Needs only the standard library."""

import fcntl
import os

# Layout of the crate `rate-limit`: a head that begins with a secret, then 8 bytes for each slot.
_HEAD, _SECRET, _SLOT = 64, 32, 8
_LINE = 8


def slot_count(callers: int) -> int:
    """Return the number of slots of a table for `callers` callers: a multiple of 8."""
    return -(-callers // _LINE) * _LINE


def create_rate_limit_memory(callers: int) -> int:
    """Return a descriptor of memory for the buckets of `callers` callers, shared by inheritance. Raises OSError.

    Its size is sealed: no process can shrink the memory of the others.
    """
    fd = os.memfd_create("foreseal-buckets", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    os.write(fd, os.urandom(_SECRET))
    os.ftruncate(fd, _HEAD + _SLOT * slot_count(callers))
    fcntl.fcntl(fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW)
    return fd
