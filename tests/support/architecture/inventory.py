"""List the crates and Python packages of the repository with their modules."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from architecture.cycles import cycles
from architecture.python_imports import import_graph
from architecture.rooms import ROOM_ORDER, room_cycles, upward_imports
from architecture.rust_imports import file_graph
from repository import ROOT

PYTHON = ROOT / "python"


@dataclass
class Unit:
    """A Rust crate or a Python package below `foreseal`, with the imports between its modules."""

    name: str
    files: int
    lines: int
    graph: dict[str, set[str]]
    is_crate: bool = False

    @property
    def cycles(self) -> list[list[str]]:
        """The groups of modules that import each other in a circle."""
        return cycles(self.graph)

    @property
    def room_cycles(self) -> list[list[str]]:
        """The groups of files and folders of one folder that import each other in a circle; empty for Python."""
        return room_cycles(self.graph) if self.is_crate else []

    @property
    def upward_imports(self) -> list[str]:
        """The imports against the order of the crate's rooms; empty without an order."""
        order = ROOM_ORDER.get(self.name) if self.is_crate else None
        return list(upward_imports(self.graph, order)) if order else []

    @property
    def is_layered(self) -> bool:
        """True if no import runs up: neither in a circle nor against the order of rooms."""
        return not (self.cycles or self.upward_imports or self.room_cycles)


def _count(files: Iterable[Path]) -> tuple[int, int]:
    texts = [file.read_text() for file in files]
    return len(texts), sum(len(text.splitlines()) for text in texts)


def crates() -> list[Unit]:
    """Return our crates below `rust_core`."""
    manifests = sorted((ROOT / "rust_core").rglob("Cargo.toml"))
    folders = [file.parent for file in manifests if 'name = "foreseal-' in file.read_text()]
    return [
        Unit(folder.name, *_count((folder / "src").rglob("*.rs")), file_graph(folder), is_crate=True)
        for folder in folders
    ]


def packages() -> list[Unit]:
    """Return the Python packages directly below `foreseal`; modules directly below it form one unit."""
    base = PYTHON / "foreseal"
    graph = import_graph(PYTHON)
    units = []
    for folder in [base, *sorted(init.parent for init in base.glob("*/__init__.py"))]:
        files = list(base.glob("*.py") if folder == base else folder.rglob("*.py"))
        names = {name for name, (file, _) in graph.items() if file in files}
        inner = {name: graph[name][1] & names for name in names}
        units.append(Unit(".".join(folder.relative_to(PYTHON).parts), *_count(files), inner))
    return units


def measure() -> list[Unit]:
    """Return all crates and Python packages."""
    return [*crates(), *packages()]
