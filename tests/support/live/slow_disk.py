"""A disk whose syncs hang while a file exists, transparent to the node."""

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

# Preloaded before the C library: each sync waits before it runs.
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
        """Build the library in `folder`."""
        self._library, self._hang = folder / "slow_disk.so", folder / "hang"
        compiler = shutil.which("cc")
        assert compiler, "a C compiler is needed to build the core as well"
        options = ("-shared", "-fPIC", "-O1", "-o", str(self._library), "-x", "c", "-")
        subprocess.run([compiler, *options, "-ldl"], input=_SOURCE, text=True, check=True)

    def under(self, command: Sequence[str]) -> list[str]:
        """Return the command that runs on this disk."""
        return ["/usr/bin/env", f"LD_PRELOAD={self._library}", f"HANG_WHILE={self._hang}", *command]

    def hang(self) -> None:
        """Block all syncs from now on."""
        self._hang.touch()

    def recover(self) -> None:
        """Let all syncs return."""
        self._hang.unlink()
