"""Many flips, and their outcomes."""

import os
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

import orjson

from flips.kind import BAD, Flip, Outcome, Result
from flips.kinds import KINDS
from repository import PYTHONPATH


class Worker:
    """A process that tries flips on copies of a data directory; it is replaced if it crashes."""

    def __init__(self, datadir: Path) -> None:
        self._datadir = datadir
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process is not None:
            with self._process:
                self._process.kill()

    def run(self, kind: str, flip: Flip) -> Result:
        """Return the outcome of a flip."""
        if self._process is None:
            command = [sys.executable, "-m", "flips.worker", str(self._datadir)]
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=os.environ | {"PYTHONPATH": PYTHONPATH},
            )
        given, answered = self._process.stdin, self._process.stdout
        assert given is not None
        assert answered is not None
        given.write(orjson.dumps({"kind": kind, **asdict(flip)}) + b"\n")
        given.flush()
        line = answered.readline()
        if not line:
            with self._process:
                code = self._process.wait()
            self._process = None
            return Result(flip, Outcome.CRASHED, f"the process ended with {code}")
        answer = orjson.loads(line)
        return Result(flip, Outcome(answer["outcome"]), answer["detail"])


@dataclass(slots=True)
class Report:
    """Number of flips of a kind by outcome."""

    kind: str
    counts: Counter[Outcome] = field(default_factory=Counter)
    bad: list[Result] = field(default_factory=list)
    unnamed: list[Result] = field(default_factory=list)

    def add(self, result: Result) -> None:
        """Count a result."""
        self.counts[result.outcome] += 1
        if result.outcome in BAD:
            self.bad.append(result)
        elif result.outcome is not Outcome.NONE and not result.detail:
            self.unnamed.append(result)


def flips(kind: str, datadir: Path, count: int, seed: int) -> Iterator[Flip]:
    """Yield the bits to flip; deterministic for the same seed."""
    choice = random.Random(seed)
    for _ in range(count):
        yield KINDS[kind].draw(datadir, choice)


def run(kind: str, datadir: Path, count: int, seed: int) -> Iterator[Result]:
    """Yield the outcome of each flip."""
    with Worker(datadir) as worker:
        for flip in flips(kind, datadir, count, seed):
            yield worker.run(kind, flip)
