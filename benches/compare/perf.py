"""Samples the stacks of a node's processes with `perf` of Linux: all threads, native code and kernel.

docs/design/decisions/tests-and-benchmarks.md has the reasons for perf and its limits.
"""

import os
import re
import shutil
import signal
import subprocess
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from foreseal.bench.errors import BenchError

_INSTALL = "install the package linux-perf (Debian), linux-tools-generic (Ubuntu) or perf (Fedora, Arch)"
_REJECTED = (
    "the kernel rejects it. Run as root, or measure a node of this user and set the sysctl kernel.perf_event_paranoid "
    "to 1, or to 2 to omit the functions of the kernel"
)
# A prime number, so that samples do not coincide with periodic work.
_SAMPLES_PER_SECOND = 499
# Bytes of each stack that perf copies and unwinds afterwards: the core has no frame pointers.
_STACK_BYTES = 32_768
_PATIENCE = 60.0
_MAX_MESSAGE = 600
_FIELDS = "comm,pid,tid,ip,sym,dso"
_THREAD = re.compile(r"(\S.*?)\s+(\d+)/\d+")
_FRAME = re.compile(r"\s+[0-9a-f]+ (.*) \(([^()]*(?:\(deleted\))?)\)")


@dataclass(frozen=True, slots=True)
class StackFrame:
    """A function, or a thread at the root of a stack."""

    name: str
    module: str
    """File name of the library or program; empty for a thread."""


Stacks = Counter[tuple[StackFrame, ...]]
"""Samples of each stack, whose first frame is the thread."""


class PerfSampler:
    """The program perf. Raise BenchError if it is missing or may not observe processes of this user."""

    def __init__(self) -> None:
        program = shutil.which("perf")
        if program is None:
            raise BenchError(f"perf is not on the PATH: {_INSTALL}")
        self._program = program
        self.check([os.getpid()])

    def check(self, processes: Sequence[int]) -> None:
        """Raise BenchError if these processes cannot be observed."""
        self.sample(processes, lambda: None)

    def sample(self, processes: Sequence[int], work: Callable[[], object]) -> Stacks:
        """Return the stacks of the processes and their new threads during `work`. Raise BenchError if perf fails."""
        with tempfile.TemporaryDirectory(prefix="foreseal-profile-") as folder:
            data = Path(folder) / "perf.data"
            self._record(processes, data, work)
            script = [self._program, "script", "--input", str(data), "--no-inline", "--fields", _FIELDS]
            completed = subprocess.run(script, capture_output=True, text=True, errors="replace")
        if completed.returncode:
            raise BenchError(f"perf script failed: {_message(completed.stderr)}")
        return read_stacks(completed.stdout)

    def _record(self, processes: Sequence[int], data: Path, work: Callable[[], object]) -> None:
        control, control_writer = os.pipe()
        reply_reader, reply = os.pipe()
        command = [
            *(self._program, "record", "--freq", str(_SAMPLES_PER_SECOND), "--call-graph", f"dwarf,{_STACK_BYTES}"),
            *("--no-buildid-cache", "--delay=-1", f"--control=fd:{control},{reply}", "--output", str(data)),
            *("--pid", ",".join(map(str, processes))),
        ]
        with (data.parent / "output").open("w+") as output:
            perf = subprocess.Popen(command, pass_fds=(control, reply), stdout=output, stderr=output)
            os.close(control)
            os.close(reply)
            try:
                if self._begins(control_writer, reply_reader):
                    work()
                    perf.send_signal(signal.SIGINT)
                code = perf.wait(_PATIENCE)
            except subprocess.TimeoutExpired:
                raise BenchError(f"perf did not end within {_PATIENCE:g} s") from None
            finally:
                perf.kill()
                perf.wait()
                os.close(control_writer)
                os.close(reply_reader)
            output.seek(0)
            if code not in (0, -signal.SIGINT):
                printed = output.read()
                reason = _REJECTED if "perf_event_paranoid" in printed else _message(printed)
                raise BenchError(f"perf cannot observe the node: {reason}")

    @staticmethod
    def _begins(control: int, reply: int) -> bool:
        """Return True once perf samples, and False if it ended instead."""
        try:
            os.write(control, b"enable\n")
        except BrokenPipeError:
            return False
        return os.read(reply, 8) != b""


def read_stacks(script: str) -> Stacks:
    """Return the stacks in the output of `perf script`."""
    stacks = Stacks()
    for sample in script.split("\n\n"):
        head, *lines = sample.strip("\n").splitlines() or [""]
        if thread := _THREAD.match(head):
            frames = [frame for line in reversed(lines) if (frame := _frame(line)) is not None]
            stacks[StackFrame(f"{thread[1]}, process {thread[2]}", ""), *frames] += 1
    return stacks


def _frame(line: str) -> StackFrame | None:
    """Return a frame; None where unwinding found no code."""
    match = _FRAME.fullmatch(line)
    if match is None or match[2] == "[unknown]":
        return None
    module = match[2].removesuffix(" (deleted)").rpartition("/")[2]
    return StackFrame(module if match[1] == "[unknown]" else match[1], module)


def _message(text: str) -> str:
    """Return the start of what perf printed, in one line."""
    return " ".join(text.split())[:_MAX_MESSAGE]
