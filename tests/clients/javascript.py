"""Runs the JavaScript tests of this folder with Node's own test runner."""

import fcntl
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).parent
LEAST_NODE = 20
INSTALL_TIME = 100.0
RUN_TIME = 100.0

_PASSED = re.compile(r"^ok \d+ - (.*)$", re.MULTILINE)
_VERSION = re.compile(r"v(\d+)\.")


def find_node() -> str:
    """The node command; skips the test that asks where there is none that can be used."""
    node = shutil.which("node")
    if node is None or shutil.which("npm") is None:
        pytest.skip(f"Node.js and npm are not on the PATH: this test needs Node {LEAST_NODE} or newer")
    found = subprocess.run([node, "--version"], capture_output=True, text=True, check=True).stdout.strip()
    version = _VERSION.match(found)
    if version is None or int(version[1]) < LEAST_NODE:
        pytest.skip(f"Node {found} is too old: this test needs Node {LEAST_NODE} or newer")
    return node


def install() -> None:
    """`npm ci` where the installed packages are not those of package-lock.json; one process at a time."""
    with (HERE / "package-lock.json").open("rb") as exclusive:
        fcntl.flock(exclusive, fcntl.LOCK_EX)
        lock = exclusive.read()
        installed = HERE / "node_modules" / ".installed-from"
        if installed.exists() and installed.read_bytes() == lock:
            return
        npm = subprocess.run(
            ["npm", "ci", "--no-progress"], cwd=HERE, capture_output=True, text=True, timeout=INSTALL_TIME, check=False
        )
        assert npm.returncode == 0, f"npm ci failed:\n{npm.stdout}{npm.stderr}"
        installed.write_bytes(lock)


def passed_tests(file: str, url: str, key: str) -> set[str]:
    """Run one test file against the node at `url` with the key of a funded account; the names of its tests.

    Fails with the runner's report if one of them fails.
    """
    node = find_node()
    install()
    environment = {**os.environ, "FORESEAL_URL": url, "FORESEAL_KEY": key}
    run = subprocess.run(
        [node, "--test", "--test-reporter=tap", file],
        cwd=HERE,
        env=environment,
        capture_output=True,
        text=True,
        timeout=RUN_TIME,
        check=False,
    )
    assert run.returncode == 0, f"{file} failed:\n{run.stdout}{run.stderr}"
    return set(_PASSED.findall(run.stdout))
