"""The reader of modules finds planted cycles, and nothing where there is none."""

from pathlib import Path

import pytest

from architecture.cycles import cycles
from architecture.inventory import measure
from architecture.python_imports import import_graph
from architecture.rust_imports import file_graph

RUST_CYCLES = {
    "import": {
        "lib.rs": "mod a; mod b;",
        "a.rs": "use crate::b::B; struct A(B);",
        "b.rs": "use super::a::A; struct B;",
    },
    "re-export": {
        "lib.rs": "mod a; mod b; pub use b::{B as Other, C};",
        "a.rs": "use crate::Other; pub struct A;",
        "b.rs": "pub struct B; pub struct C; fn f() -> crate::a::A { todo!() }",
    },
    "re-export of a folder": {
        "lib.rs": "mod a; mod folder;",
        "a.rs": "use crate::folder::B; pub struct A;",
        "folder/mod.rs": "mod b; pub use b::B;",
        "folder/b.rs": "pub struct B; use super::super::a;\nfn f(_: a::A) {}",
    },
    "glob": {
        "lib.rs": "mod a; mod b;",
        "a.rs": "use crate::b::*; pub struct A; fn f(_: B) {}",
        "b.rs": "pub struct B; fn f() { let _ = crate::a::A; }",
    },
    "parent": {
        "lib.rs": "mod a;",
        "a.rs": "mod b; pub struct A; fn f() { b::f() }",
        "a/b.rs": "pub fn f(_: super::A) {}",
    },
    "macro": {
        "lib.rs": "mod a; mod b;",
        "a.rs": "macro_rules! m { () => { crate::b::B } } pub(crate) use m;",
        "b.rs": "pub struct B; fn f() { crate::a::m!(); }",
    },
}
RUST_CLEAN = {
    "tests": {
        "lib.rs": "mod a; mod b;",
        "a.rs": "use crate::b::B; pub struct A(B);",
        "b.rs": "pub struct B;\n#[cfg(test)]\nmod tests { use crate::a::A; }\n#[cfg(test)]\nuse crate::a::A as _;",
    },
    "comments": {
        "lib.rs": "mod a; mod b;",
        "a.rs": "use crate::b::B; pub struct A(B);",
        "b.rs": '// crate::a::A\n/* /* */ crate::a::A */ pub struct B; const C: &str = r#"crate::a::A"#;',
    },
    "own re-exports": {
        "lib.rs": "mod a; pub use a::A; pub struct B;",
        "a.rs": "use crate::B; pub struct A(B); const C: char = '\\''; const D: char = '\"';",
    },
}


def plant(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        file = folder / "src" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return folder


@pytest.mark.parametrize("name", RUST_CYCLES)
def test_planted_cycle_of_rust_is_found(name: str, tmp_path: Path) -> None:
    assert len(cycles(file_graph(plant(tmp_path, RUST_CYCLES[name])))) == 1


@pytest.mark.parametrize("name", RUST_CLEAN)
def test_crate_without_cycle_passes(name: str, tmp_path: Path) -> None:
    graph = file_graph(plant(tmp_path, RUST_CLEAN[name]))
    assert not cycles(graph)
    assert sum(map(len, graph.values())) == 1


@pytest.mark.parametrize(
    ("second", "expected"),
    [
        ("import foreseal.a", 1),
        ("from foreseal import a", 1),
        ("def f():\n    from foreseal.a import x", 1),
        ("from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from foreseal.a import x", 0),
    ],
)
def test_planted_cycle_of_python_is_found(second: str, expected: int, tmp_path: Path) -> None:
    package = tmp_path / "foreseal"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "a.py").write_text("from foreseal.b import y")
    (package / "b.py").write_text(second)
    graph = {name: targets for name, (_, targets) in import_graph(tmp_path).items()}
    assert len(cycles(graph)) == expected


def test_separate_cycles_are_separate_groups() -> None:
    graph = {"a": {"b"}, "b": {"a", "c"}, "c": {"d"}, "d": {"e"}, "e": {"c"}, "f": {"a"}}
    assert cycles(graph) == [["a", "b"], ["c", "d", "e"]]


def test_modules_of_each_crate_are_found() -> None:
    units = {unit.name: unit for unit in measure()}
    # Files that hold modules' declarations or tests are no modules: a few in each crate.
    shares = {name: len(unit.graph) / unit.files for name, unit in units.items()}
    assert all(share > 0.5 for share in shares.values()), shares
    assert sum(len(unit.graph) for unit in units.values()) > 700
    edges = {name: sum(map(len, unit.graph.values())) for name, unit in units.items() if len(unit.graph) > 5}
    assert all(edges.values()), edges
