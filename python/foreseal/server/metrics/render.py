"""Metrics as text."""

from collections.abc import Iterable

from foreseal.server.metrics.family import Family, Sample
from foreseal.server.metrics.read import Readings, Watched
from foreseal.server.metrics.table import FAMILIES


def render(watched: Watched, process: str | None = None) -> str:
    """All metrics, one family after the other. `process` is the name of this one, where there are several."""
    readings = Readings(watched)
    mark = {} if process is None else {"process": process}
    return "".join(_block(family, _lines(family, family.read(readings), mark)) for family in FAMILIES)


def join(texts: Iterable[str]) -> str:
    """The metrics of several processes as one text: each family once, with the samples of all."""
    samples: dict[str, list[str]] = {family.name: [] for family in FAMILIES}
    for text in texts:
        found: list[str] = []
        for line in text.splitlines(keepends=True):
            if line.startswith("# TYPE "):
                # One that this program does not know is another version's.
                found = samples.get(line.split(" ")[2], [])
            elif not line.startswith("#"):
                found.append(line)
    return "".join(_block(family, "".join(samples[family.name])) for family in FAMILIES)


def _block(family: Family, lines: str) -> str:
    return f"# HELP {family.name} {family.help}\n# TYPE {family.name} {family.kind}\n{lines}"


def _lines(family: Family, samples: Iterable[Sample], mark: dict[str, str]) -> str:
    return "".join(f"{family.name}{suffix}{_marks(labels | mark)} {value}\n" for labels, value, suffix in samples)


def _marks(labels: dict[str, str]) -> str:
    marks = ",".join(f'{name}="{_escaped(value)}"' for name, value in labels.items())
    return f"{{{marks}}}" if marks else ""


def _escaped(value: str) -> str:
    return value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
