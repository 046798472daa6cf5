"""Node.js, and the npm packages that a folder's package-lock.json pins."""

import fcntl
import re
import shutil
import subprocess
from pathlib import Path

import pytest

LEAST_NODE = 20
INSTALL_TIME = 100.0

_VERSION = re.compile(r"v(\d+)\.")


def find_node() -> str:
    """Return the node command; skip the calling test if there is no usable one."""
    node = shutil.which("node")
    if node is None or shutil.which("npm") is None:
        pytest.skip(f"Node.js and npm are not on the PATH: this test needs Node {LEAST_NODE} or newer")
    printed_version = subprocess.run([node, "--version"], capture_output=True, text=True, check=True).stdout.strip()
    version = _VERSION.match(printed_version)
    if version is None or int(version[1]) < LEAST_NODE:
        pytest.skip(f"Node {printed_version} is too old: this test needs Node {LEAST_NODE} or newer")
    return node


def install(folder: Path, seconds: float = INSTALL_TIME) -> None:
    """Run `npm ci` in `folder` if the installed packages differ from package-lock.json; one process at a time.

    It fails after `seconds`. Packages must not run their own scripts.
    """
    with (folder / "package-lock.json").open("rb") as exclusive:
        fcntl.flock(exclusive, fcntl.LOCK_EX)
        lock = exclusive.read()
        installed = folder / "node_modules" / ".installed-from"
        if installed.exists() and installed.read_bytes() == lock:
            return
        npm = subprocess.run(
            ["npm", "ci", "--no-progress", "--ignore-scripts"],
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=seconds,
            check=False,
        )
        assert npm.returncode == 0, f"npm ci failed:\n{npm.stdout}{npm.stderr}"
        installed.write_bytes(lock)
