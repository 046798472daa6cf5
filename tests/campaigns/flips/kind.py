"""A kind of file, and the outcomes of a flipped bit in it."""

import random
import shutil
from abc import ABC, abstractmethod
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from damage import chain
from foreseal.errors import NodeError, RpcError


class Outcome(StrEnum):
    """Outcomes of a flipped bit, worst first."""

    CRASHED = "crashed"
    SERVED = "served"
    BUILT = "built upon"
    OPEN = "found at start"
    READ = "found at read"
    SCRUB = "found by scrub"
    NONE = "no effect"


BAD = (Outcome.CRASHED, Outcome.SERVED, Outcome.BUILT)
"""Outcomes that must not occur."""


@dataclass(frozen=True, slots=True)
class Flip:
    """One flipped bit of a file of a data directory."""

    file: str
    byte: int
    bit: int

    def apply(self, datadir: Path) -> None:
        """Flip the bit in `datadir`."""
        with (datadir / self.file).open("r+b") as file:
            file.seek(self.byte)
            (byte,) = file.read(1)
            file.seek(self.byte)
            file.write(bytes([byte ^ (1 << self.bit)]))


@dataclass(frozen=True, slots=True)
class Result:
    """Outcome and report of a flip."""

    flip: Flip
    outcome: Outcome
    detail: str


@dataclass(frozen=True, slots=True)
class Expected:
    """Responses of the undamaged chain, and the blocks built on it."""

    calls: list[tuple[str, list[Any]]]
    answers: list[chain.Answer]
    built: list[str]


def expected(datadir: Path) -> Expected:
    """Return the responses of a copy of `datadir`, and the blocks built on it."""
    copied = chain.copy(datadir)
    try:
        driver = chain.Driver(copied)
        calls = list(chain.questions(driver))
        driver.close()
        return Expected(calls, chain.query(copied, calls), chain.build(copied))
    finally:
        shutil.rmtree(copied)


class Kind(ABC):
    """A kind of file in a data directory."""

    name: str

    @abstractmethod
    def files(self, datadir: Path) -> list[Path]:
        """Return the files of this kind in `datadir`."""

    def draw(self, datadir: Path, choice: random.Random) -> Flip:
        """Choose a bit of the files, with equal probability for each byte."""
        files = self.files(datadir)
        (file,) = choice.choices(files, [file.stat().st_size for file in files])
        byte = choice.randrange(file.stat().st_size)
        return Flip(str(file.relative_to(datadir)), byte, choice.randrange(8))

    def run(self, datadir: Path, flip: Flip, known: Expected) -> Result:
        """Flip the bit in copies of `datadir`: one is read, the other one is built upon."""
        read = self._on_copy(datadir, flip, lambda copied: self.read(copied, known))
        if read[0] in BAD:
            return Result(flip, *read)
        built = self._on_copy(datadir, flip, lambda copied: self.build(copied, known))
        if built[0] in BAD or read[0] is Outcome.NONE:
            return Result(flip, *built)
        return Result(flip, *read)

    def read(self, datadir: Path, known: Expected) -> tuple[Outcome, str]:
        """Compare all responses, then scrub the data that no call read."""
        try:
            answers = chain.query(datadir, known.calls)
        except NodeError as error:
            return Outcome.OPEN, str(error)
        text = None
        for call, answer, right in zip(known.calls, answers, known.answers, strict=True):
            if answer.damaged:
                text = text or answer.text
            elif answer != right:
                return Outcome.SERVED, f"{call}: {answer.text[:200]}, not {right.text[:200]}"
        if text is not None:
            return Outcome.READ, text
        return self.scrub(datadir)

    def scrub(self, datadir: Path) -> tuple[Outcome, str]:
        """Read data that no call read."""
        return Outcome.NONE, ""

    def build(self, datadir: Path, known: Expected) -> tuple[Outcome, str]:
        """Build blocks, and compare them."""
        try:
            built = chain.build(datadir)
        except NodeError as error:
            return Outcome.OPEN, str(error)
        except RpcError as error:
            return Outcome.READ, error.message
        if built != known.built:
            return Outcome.BUILT, f"{built}, not {known.built}"
        return Outcome.NONE, ""

    def _on_copy(self, datadir: Path, flip: Flip, act: Any) -> tuple[Outcome, str]:
        copied = chain.copy(datadir)
        try:
            flip.apply(copied)
            outcome, detail = act(copied)
            return outcome, detail
        finally:
            shutil.rmtree(copied, ignore_errors=True)
