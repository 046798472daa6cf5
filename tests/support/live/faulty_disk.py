"""A disk that is slow, hangs or reports read errors while a file exists, transparent to the node."""

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

# Preloaded before the C library: syncs and writes wait before they run, and reads at an offset fail.
_SOURCE = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/types.h>
#include <unistd.h>

typedef int sync_function(int);
typedef ssize_t read_function(int, void *, size_t, off_t);
typedef ssize_t write_function(int, const void *, size_t, off_t);

static void wait_for_disk(void) {
    const char *delay = getenv("DELAY_FILE");
    FILE *file = delay ? fopen(delay, "r") : NULL;
    unsigned int milliseconds = 0;
    if (!file) return;
    if (fscanf(file, "%u", &milliseconds) == 1) usleep(milliseconds * 1000);
    fclose(file);
}

static int synced(const char *name, int fd) {
    const char *hang = getenv("HANG_WHILE");
    while (hang && access(hang, F_OK) == 0) usleep(20000);
    wait_for_disk();
    return ((sync_function *)dlsym(RTLD_NEXT, name))(fd);
}

static ssize_t written(const char *name, int fd, const void *data, size_t size, off_t offset) {
    wait_for_disk();
    return ((write_function *)dlsym(RTLD_NEXT, name))(fd, data, size, offset);
}

ssize_t pread64(int fd, void *data, size_t size, off_t offset) {
    const char *broken = getenv("FAIL_READS_WHILE");
    if (broken && access(broken, F_OK) == 0) {
        errno = EIO;
        return -1;
    }
    return ((read_function *)dlsym(RTLD_NEXT, "pread64"))(fd, data, size, offset);
}

int fsync(int fd) { return synced("fsync", fd); }
int fdatasync(int fd) { return synced("fdatasync", fd); }
ssize_t pwrite(int fd, const void *data, size_t size, off_t offset) {
    return written("pwrite", fd, data, size, offset);
}
ssize_t pwrite64(int fd, const void *data, size_t size, off_t offset) {
    return written("pwrite64", fd, data, size, offset);
}
"""


class FaultyDisk:
    """Wraps a command."""

    def __init__(self, folder: Path) -> None:
        """Build the library in `folder`."""
        self._library = folder / "faulty_disk.so"
        self._hang, self._delay, self._broken = folder / "hang", folder / "delay", folder / "broken"
        compiler = shutil.which("cc")
        assert compiler, "a C compiler is needed to build the core as well"
        options = ("-shared", "-fPIC", "-O1", "-o", str(self._library), "-x", "c", "-")
        subprocess.run([compiler, *options, "-ldl"], input=_SOURCE, text=True, check=True)

    def under(self, command: Sequence[str]) -> list[str]:
        """Return the command that runs on this disk."""
        files = (f"HANG_WHILE={self._hang}", f"DELAY_FILE={self._delay}", f"FAIL_READS_WHILE={self._broken}")
        variables = (f"LD_PRELOAD={self._library}", *files)
        return ["/usr/bin/env", *variables, *command]

    def hang(self) -> None:
        """Block all syncs from now on."""
        self._hang.touch()

    def recover(self) -> None:
        """Let all syncs return."""
        self._hang.unlink()

    def slow_down(self, milliseconds: int) -> None:
        """Delay each sync, and each write at an offset, from now on."""
        self._delay.write_text(str(milliseconds))

    def fail_reads(self) -> None:
        """Let each read at an offset fail with EIO from now on."""
        self._broken.touch()
