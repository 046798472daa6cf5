"""Stacks in the output of perf, their drawing, and failures of perf."""

import os
import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from benches.compare.flame_graph import draw_flame_graph
from benches.compare.perf import PerfSampler, StackFrame, read_stacks
from benches.compare.profiler import file_name

from foreseal.bench.call_matrix import ROWS
from foreseal.bench.errors import BenchError
from foreseal.bench.throughput import KINDS

SCRIPT = """
python  6280/6280\x20
        ffffffff816bba2a ksys_write ([kernel.kallsyms])
                   f838f __GI___libc_write (/usr/lib/x86_64-linux-gnu/libc.so.6)
                  6d3bde <T as core::fmt::Debug>::fmt (/a b/foreseal/_core.abi3.so)
                   fd9c2 _PyEval_EvalFrameDefault (/usr/lib/libpython3.11.so.1.0)
                    1080 _start (/usr/bin/python3.11)

foreseal-submis  6281/6290\x20
                  6d3bde pool::<impl (A, B) as C>::decode (/a b/foreseal/_core.abi3.so (deleted))
                12345678 [unknown] (/usr/lib/x86_64-linux-gnu/libc.so.6)
        ffffffffffffffff [unknown] ([unknown])

python  6280/6280\x20
        ffffffff816bba2a ksys_write ([kernel.kallsyms])
                   f838f __GI___libc_write (/usr/lib/x86_64-linux-gnu/libc.so.6)
                  6d3bde <T as core::fmt::Debug>::fmt (/a b/foreseal/_core.abi3.so)
                   fd9c2 _PyEval_EvalFrameDefault (/usr/lib/libpython3.11.so.1.0)
                    1080 _start (/usr/bin/python3.11)

"""
WRITE = (
    StackFrame("python, process 6280", ""),
    StackFrame("_start", "python3.11"),
    StackFrame("_PyEval_EvalFrameDefault", "libpython3.11.so.1.0"),
    StackFrame("<T as core::fmt::Debug>::fmt", "_core.abi3.so"),
    StackFrame("__GI___libc_write", "libc.so.6"),
    StackFrame("ksys_write", "[kernel.kallsyms]"),
)
DECODE = (
    StackFrame("foreseal-submis, process 6281", ""),
    StackFrame("libc.so.6", "libc.so.6"),
    StackFrame("pool::<impl (A, B) as C>::decode", "_core.abi3.so"),
)


def test_stacks_begin_with_thread_and_process_and_are_counted() -> None:
    assert read_stacks(SCRIPT) == {WRITE: 2, DECODE: 1}
    assert read_stacks("") == {}


def test_width_is_the_share_of_samples_and_callees_are_below() -> None:
    drawn = draw_flame_graph("<row>, node", read_stacks(SCRIPT))
    shape = re.compile(r'<title>([^<]*)</title><rect class="(\w+)" x="([\d.]+)" y="(\d+)" width="([\d.]+)"')
    boxes = {match[1]: match.groups()[1:] for match in shape.finditer(drawn)}
    assert boxes["foreseal-submis, process 6281: 1 samples, 33.3 %"] == ("thread", "0.0", "58", "400.0")
    assert boxes["python, process 6280: 2 samples, 66.7 %"] == ("thread", "400.0", "58", "800.0")
    kinds = {title.partition(" (")[0]: kind for title, (kind, *_) in boxes.items()}
    assert kinds["_start"] == kinds["_PyEval_EvalFrameDefault"] == "python"
    assert kinds["&lt;T as core::fmt::Debug&gt;::fmt"] == "core"
    assert kinds["ksys_write"] == "kernel"
    assert kinds["__GI___libc_write"] == "native"
    (deepest,) = (y for title, (_, _, y, _) in boxes.items() if title.startswith("ksys_write"))
    assert int(deepest) == 58 + 5 * 16
    assert "&lt;row&gt;, node, 3 samples" in drawn
    assert "<script" not in drawn


def test_rare_functions_are_omitted_and_long_names_cut() -> None:
    thread = StackFrame("python, process 1", "")
    stacks = read_stacks("")
    stacks[thread, StackFrame("f" * 500, "libc.so.6")] = 9_999
    stacks[thread, StackFrame("rare", "libc.so.6")] = 1
    drawn = draw_flame_graph("title", stacks)
    assert "rare" not in drawn
    assert f">{'f' * 180}…</text>" in drawn
    assert drawn.count("f" * 500) == 1


def test_graph_without_samples_is_valid() -> None:
    assert "title, 0 samples" in draw_flame_graph("title", read_stacks(""))


def test_every_row_and_kind_has_a_file_name_of_its_own() -> None:
    rows = [*(row.name for row in ROWS), *KINDS]
    names = {file_name(row, node) for row in rows for node in ("a", "b")}
    assert len(names) == 2 * len(rows)
    assert "logs-2-000-blocks-filtered.a.svg" in names
    assert all(re.fullmatch(r"[a-z0-9-]+\.[ab]\.svg", name) for name in names)


ACKNOWLEDGES = """
import os, pathlib, signal, sys
if sys.argv[1] == "record":
    (pair,) = (word.removeprefix("--control=fd:") for word in sys.argv if word.startswith("--control=fd:"))
    command, reply = map(int, pair.split(","))
    pathlib.Path(__file__ + ".pid").write_text(str(os.getpid()))
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    os.read(command, 100)
    os.write(reply, b"ack\\n")
    signal.pause()
"""
"""A perf that samples nothing until a signal ends it."""


@pytest.fixture
def fake_perf(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[str], Path]:
    """Provide a function that makes a Python script the program perf and returns its path."""

    def make(script: str) -> Path:
        program = tmp_path / "perf"
        program.write_text(f"#!{sys.executable}\n{script}\n")
        program.chmod(0o755)
        monkeypatch.setenv("PATH", str(tmp_path))
        return program

    return make


def test_missing_perf_names_the_packages(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(BenchError, match=r"^perf is not on the PATH: install the package linux-perf \(Debian\)"):
        PerfSampler()


@pytest.mark.parametrize(
    ("printed", "message"),
    [
        ("Error:\nAccess is limited.", r"Error: Access is limited\."),
        ("Error:\nperf_event_paranoid setting is 4:", "the kernel rejects it. Run as root, or .* to 2 to omit .*"),
    ],
)
def test_failure_of_perf_is_reported_in_one_line(fake_perf: Callable[[str], Path], printed: str, message: str) -> None:
    fake_perf(f"print({printed!r}); exit(255)")
    with pytest.raises(BenchError, match=f"^perf cannot observe the node: {message}$"):
        PerfSampler()


def test_work_that_fails_ends_perf(fake_perf: Callable[[str], Path]) -> None:
    program = fake_perf(ACKNOWLEDGES)
    sampler = PerfSampler()

    def fail() -> None:
        raise BenchError("a wrong answer")

    with pytest.raises(BenchError, match="a wrong answer"):
        sampler.sample([1], fail)
    with pytest.raises(ProcessLookupError):
        os.kill(int(Path(f"{program}.pid").read_text()), 0)
