"""foreseal._core.statetest and blocktest: counts and lines of the runners, and early termination."""

import os
import signal
import threading
from time import monotonic

import orjson
import pytest

from foreseal._core import blocktest, statetest
from foreseal.errors import NodeError
from live_node import shared

ARCHIVE = "ethereum-tests.tar.zst"


def test_each_case_is_one_line_in_order() -> None:
    lines: list[bytes] = []
    passed, failed = statetest([shared(ARCHIVE)], "Shanghai", lines.append)
    cases = [orjson.loads(line) for line in lines]
    assert passed == len(cases) > 0
    assert failed == 0
    assert all(case["pass"] and case["fork"] == "Shanghai" for case in cases)
    files = [case["file"] for case in cases]
    assert files == sorted(files)


def test_exception_of_the_sink_ends_the_run() -> None:
    seen = []

    def stop(line: bytes) -> None:
        seen.append(line)
        raise ValueError("enough")

    with pytest.raises(ValueError, match="enough"):
        blocktest([shared(ARCHIVE)], stop)
    assert len(seen) == 1


def test_ctrl_c_ends_the_run() -> None:
    archive = shared(ARCHIVE)
    lines: list[bytes] = []

    def interrupt() -> None:
        os.kill(os.getpid(), signal.SIGINT)

    timer = threading.Timer(0.5, interrupt)

    def report(line: bytes) -> None:
        if not lines:
            timer.start()
        lines.append(line)

    start = monotonic()
    with pytest.raises(KeyboardInterrupt):
        blocktest([archive] * 100, report)
    timer.join()
    assert monotonic() - start < 30


def test_a_missing_path_is_named() -> None:
    with pytest.raises(NodeError, match=r"^/no/such: ") as error:
        statetest(["/no/such"], None, print)
    assert error.value.kind == "io"
