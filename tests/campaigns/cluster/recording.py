"""Everything that readers were shown, and the history of the engine, as values and as JSON lines."""

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import NamedTuple

import orjson


class StepPosition(NamedTuple):
    """Block number and index of a step; positions are ordered as the chain."""

    number: int
    step: int


@dataclass(frozen=True, slots=True)
class ShownStep:
    """A step that a process returned to a reader."""

    process: str
    at: float
    """Time on the monotonic clock of the machine, in seconds."""
    number: int
    index: int
    hash: str
    previous: str
    """Hash of the previous step."""
    signature: str | None
    time: int
    """Time of the step according to the sequencer, in ms since 1970."""
    transactions: tuple[str, ...]
    """Hashes."""
    epoch: int | None = None
    """Epoch of the owner in the response's header, if the step was the newest then."""
    removed: bool = False
    """True if the process reported the step as reorged."""

    @property
    def position(self) -> StepPosition:
        """Block number and index."""
        return StepPosition(self.number, self.index)

    @property
    def content(self) -> tuple[object, ...]:
        """Everything that must be the same at every process and time."""
        return self.number, self.index, self.hash, self.previous, self.signature, self.time, self.transactions


@dataclass(frozen=True, slots=True)
class EngineHead:
    """A value of the key `head`: the append with this sequence exists."""

    at: float
    revision: int
    epoch: int
    sequence: int
    hash: str
    """Hash of the append chain."""
    block: int
    index: int

    @property
    def position(self) -> StepPosition:
        """Position of the newest step of the append."""
        return StepPosition(self.block, self.index)


@dataclass(frozen=True, slots=True)
class EngineOwner:
    """A value of the key `owner`."""

    at: float
    revision: int
    epoch: int
    run_id: str
    name: str


@dataclass(frozen=True, slots=True)
class AppliedFault:
    """A fault of the plan, as it was executed."""

    kind: str
    targets: tuple[str, ...]
    began: float
    healed: float
    epoch: int
    """Epoch of the owner before the fault."""


@dataclass(frozen=True, slots=True)
class FinalChain:
    """Chain of the cluster after all faults healed."""

    number: int
    index: int
    hash: str
    blocks: dict[int, str]
    """Hashes of the sealed blocks."""


@dataclass
class Recording:
    """Everything that the checker reads."""

    steps: list[ShownStep] = field(default_factory=list)
    heads: list[EngineHead] = field(default_factory=list)
    owners: list[EngineOwner] = field(default_factory=list)
    faults: list[AppliedFault] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    """Reasons why the recording is incomplete, or the cluster did not recover."""
    final: FinalChain | None = None


_KINDS = {"step": ShownStep, "head": EngineHead, "owner": EngineOwner, "fault": AppliedFault, "final": FinalChain}


def write(recording: Recording, file: Path) -> None:
    """Write a recording as JSON lines."""
    with file.open("wb") as lines:
        for kind, value in _entries(recording):
            lines.write(orjson.dumps({"kind": kind, "value": value}, option=orjson.OPT_NON_STR_KEYS) + b"\n")


def read(file: Path) -> Recording:
    """Read a recording. Raises ValueError for an unknown kind of line."""
    recording = Recording()
    lists: dict[str, list[object]] = {
        "step": recording.steps,  # type: ignore[dict-item]
        "head": recording.heads,  # type: ignore[dict-item]
        "owner": recording.owners,  # type: ignore[dict-item]
        "fault": recording.faults,  # type: ignore[dict-item]
    }
    with file.open("rb") as lines:
        for line in lines:
            entry = orjson.loads(line)
            kind, value = entry["kind"], entry["value"]
            if kind == "problem":
                recording.problems.append(value)
                continue
            for name in ("transactions", "targets"):
                if name in value:
                    value[name] = tuple(value[name])
            if kind == "final":
                value["blocks"] = {int(number): hash for number, hash in value["blocks"].items()}
                recording.final = FinalChain(**value)
            elif kind in lists:
                lists[kind].append(_KINDS[kind](**value))
            else:
                raise ValueError(f"{file}: unknown kind {kind!r}")
    return recording


def _entries(recording: Recording) -> Iterator[tuple[str, object]]:
    lists: Iterable[tuple[str, Iterable[object]]] = (
        ("step", recording.steps),
        ("head", recording.heads),
        ("owner", recording.owners),
        ("fault", recording.faults),
    )
    for kind, values in lists:
        for value in values:
            yield kind, asdict(value)  # type: ignore[call-overload]
    for problem in recording.problems:
        yield "problem", problem
    if recording.final is not None:
        yield "final", asdict(recording.final)
