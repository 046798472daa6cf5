"""A disk whose syncs hang for as long as a file is there, below a node that knows nothing of it."""

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

# Put in front of the C library: each sync waits before it is made.
_SOURCE = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

typedef int sync_function(int);

static int synced(const char *name, int fd) {
    const char *hang = getenv("HANG_WHILE");
    while (hang && access(hang, F_OK) == 0) usleep(20000);
    return ((sync_function *)dlsym(RTLD_NEXT, name))(fd);
}

int fsync(int fd) { return synced("fsync", fd); }
int fdatasync(int fd) { return synced("fdatasync", fd); }
"""


class SlowDisk:
    """Wraps a command."""

    def __init__(self, folder: Path) -> None:
        """Build what hangs in `folder`."""
        self._library, self._hang = folder / "slow_disk.so", folder / "hang"
        compiler = shutil.which("cc")
        assert compiler, "a C compiler is needed to build the core as well"
        options = ("-shared", "-fPIC", "-O1", "-o", str(self._library), "-x", "c", "-")
        subprocess.run([compiler, *options, "-ldl"], input=_SOURCE, text=True, check=True)

    def under(self, command: Sequence[str]) -> list[str]:
        """The command, over this disk."""
        return ["/usr/bin/env", f"LD_PRELOAD={self._library}", f"HANG_WHILE={self._hang}", *command]

    def hang(self) -> None:
        """Let no sync return from now on."""
        self._hang.touch()

    def recover(self) -> None:
        """Let all syncs return."""
        self._hang.unlink()
