"""The processes of a node, as the system shows them."""

import os
from pathlib import Path

from live.rpc import Rpc


def group_of(group: int) -> list[int]:
    """Processes of this group that run, in the order of their start."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            # The name before may contain anything; after it come state, parent and group.
            state, _, its_group = stat.read_text().rpartition(")")[2].split()[:3]
        except (FileNotFoundError, ProcessLookupError):
            continue
        if int(its_group) == group and state != "Z":
            found.append(int(stat.parent.name))
    return sorted(found)


def names_of(group: int) -> list[tuple[str, int]]:
    """Name and id of each process that the supervisor of this group started."""
    found = []
    for pid in group_of(group):
        try:
            words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        except (FileNotFoundError, ProcessLookupError):
            continue
        if b"foreseal.supervisor.process" in words:
            found.append((words[-2].decode(), pid))
    return found


def server_of(rpc: Rpc, pids: list[int]) -> int | None:
    """Which of these processes has the other end of a connection that answered before; None if it is broken."""
    inode = _inode_of(rpc.local_port())
    for pid in pids:
        for fd in Path(f"/proc/{pid}/fd").iterdir():
            try:
                if os.readlink(fd) == f"socket:[{inode}]":
                    return pid
            except OSError:
                continue
    return None


def _inode_of(client: int) -> str | None:
    """The server's socket of the connection whose client has this port."""
    for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
        words = line.split()
        # Local and remote address, and after timers and owner the inode.
        if words[2].endswith(f":{client:04X}") and words[3] == "01":
            return words[9]
    return None
