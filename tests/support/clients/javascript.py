"""Runs the JavaScript tests of `tests/e2e/clients` with Node's own test runner."""

import os
import re
import subprocess

from npm import find_node, install
from repository import TESTS

FOLDER = TESTS / "e2e" / "clients"
RUN_TIME = 100.0

_PASSED = re.compile(r"^ok \d+ - (.*)$", re.MULTILINE)


def passed_tests(file: str, url: str, key: str) -> set[str]:
    """Run one test file against the node at `url` with the key of a funded account; return the names of its tests.

    Fails with the runner's report if one of them fails.
    """
    node = find_node()
    install(TESTS)
    environment = {**os.environ, "FORESEAL_URL": url, "FORESEAL_KEY": key}
    run = subprocess.run(
        [node, "--test", "--test-reporter=tap", file],
        cwd=FOLDER,
        env=environment,
        capture_output=True,
        text=True,
        timeout=RUN_TIME,
        check=False,
    )
    assert run.returncode == 0, f"{file} failed:\n{run.stdout}{run.stderr}"
    return set(_PASSED.findall(run.stdout))
