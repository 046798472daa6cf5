"""Rendering of metrics as text."""

from collections.abc import Iterable

from foreseal.server.metrics.family import Family, Sample
from foreseal.server.metrics.read import MetricSources, Readings
from foreseal.server.metrics.table import FAMILIES


def render(watched: MetricSources, process: str | None = None) -> str:
    """Render all metrics, one family after the other. `process` is the name of this process if there are several."""
    readings = Readings(watched)
    mark = {} if process is None else {"process": process}
    return "".join(_block(family, _lines(family, family.read(readings), mark)) for family in FAMILIES)


def join(texts: Iterable[str]) -> str:
    """Merge the metrics of several processes: each family once, with the samples of all."""
    samples: dict[str, list[str]] = {family.name: [] for family in FAMILIES}
    for text in texts:
        family_lines: list[str] = []
        for line in text.splitlines(keepends=True):
            if line.startswith("# TYPE "):
                # An unknown family comes from a process of another version.
                family_lines = samples.get(line.split(" ")[2], [])
            elif not line.startswith("#"):
                family_lines.append(line)
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
