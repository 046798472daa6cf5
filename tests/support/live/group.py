"""The processes of a node, read from /proc."""

import os
from pathlib import Path

from live.rpc import Rpc


def group_of(group: int) -> list[int]:
    """Return the running processes of this group, in the order of their start."""
    pids = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            # The name may contain anything; state, parent and group follow it.
            state, _, its_group = stat.read_text().rpartition(")")[2].split()[:3]
        except (FileNotFoundError, ProcessLookupError):
            continue
        if int(its_group) == group and state != "Z":
            pids.append(int(stat.parent.name))
    return sorted(pids)


def names_of(group: int) -> list[tuple[str, int]]:
    """Return name and ID of each process that the supervisor of this group started."""
    names = []
    for pid in group_of(group):
        try:
            words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        except (FileNotFoundError, ProcessLookupError):
            continue
        if b"foreseal.supervisor.process" in words:
            names.append((words[-2].decode(), pid))
    return names


def server_of(rpc: Rpc, pids: list[int]) -> int | None:
    """Return the process that serves an open connection; None if the connection is broken."""
    inode = _inode_of(rpc.local_port())
    for pid in pids:
        try:
            descriptors = list(Path(f"/proc/{pid}/fd").iterdir())
        except OSError:
            continue
        for fd in descriptors:
            try:
                if os.readlink(fd) == f"socket:[{inode}]":
                    return pid
            except OSError:
                continue
    return None


def _inode_of(client: int) -> str | None:
    """Return the server's socket of the connection whose client has this port."""
    for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
        words = line.split()
        # Columns: local and remote address; after timers and owner, the inode.
        if words[2].endswith(f":{client:04X}") and words[3] == "01":
            return words[9]
    return None
