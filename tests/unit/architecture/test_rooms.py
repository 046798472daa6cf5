"""Folders of a crate import each other in one direction, and in the stated order where there is one."""

from pathlib import Path

import pytest

from architecture.inventory import crates
from architecture.rooms import DIRECT, ROOM_ORDER, room_cycles, upward_imports
from architecture.rust_imports import detours
from repository import ROOT

DETOURS = {
    "through lib.rs": {
        "lib.rs": "mod a; mod b; pub use a::A;",
        "a.rs": "pub struct A;",
        "b.rs": "use crate::A; struct B(A);",
    },
    "through mod.rs": {
        "lib.rs": "mod folder;",
        "folder/mod.rs": "mod a; mod b; pub use a::A;",
        "folder/a.rs": "pub struct A;",
        "folder/b.rs": "use super::A; struct B(A);",
    },
}
DIRECT_IMPORTS = {
    "lib.rs": "mod a; mod folder; mod b; pub use a::A; pub use b::f;",
    "a.rs": "pub struct A;",
    "b.rs": "use crate::a::A; use crate::folder::C; pub fn f(_: A, _: C) {}",
    "folder/mod.rs": "mod c; pub use c::C; pub struct D;",
    "folder/c.rs": "use super::D; use std::sync::Arc; pub struct C(Arc<D>);",
}

CYCLES = {
    "two folders": ({"a/x.rs": {"b/x.rs"}, "b/y.rs": {"a/y.rs"}}, [["a", "b"]]),
    "folder and file": ({"a/x.rs": {"b.rs"}, "b.rs": {"a/y.rs"}}, [["a", "b"]]),
    "folder with its own file": ({"a.rs": {"b.rs"}, "b.rs": {"a/x.rs"}}, [["a", "b"]]),
    "deeper folders": ({"a/b/x.rs": {"a/c.rs"}, "a/c.rs": {"a/b/y.rs"}}, [["a/b", "a/c"]]),
    "child of mod.rs": (
        {"a/mod.rs": {"a/x.rs"}, "a/y.rs": {"a/mod.rs"}, "a/x.rs": {"a/y.rs"}},
        [["a/mod", "a/x", "a/y"]],
    ),
    "child of its parent": ({"a.rs": {"a/x/one.rs"}, "a/x/other.rs": {"a.rs"}}, [["a/mod", "a/x"]]),
    "three rooms": ({"a.rs": {"b.rs"}, "b.rs": {"c/x.rs"}, "c/y.rs": {"a.rs"}}, [["a", "b", "c"]]),
}
CLEAN = {
    "one way": {"a/x.rs": {"b/x.rs", "b/y.rs"}, "a/y.rs": {"b/x.rs"}},
    "parent of children": {"a.rs": {"a/x.rs", "a/y.rs"}, "a/x.rs": {"a/y.rs"}},
    "same names in two folders": {"a/x.rs": {"b/y.rs"}, "b/x.rs": {"b/y.rs"}, "a/y.rs": {"a/x.rs"}},
}


@pytest.mark.parametrize("name", CYCLES)
def test_planted_cycle_of_rooms_is_found(name: str) -> None:
    graph, expected = CYCLES[name]
    assert room_cycles(graph) == expected


@pytest.mark.parametrize("name", CLEAN)
def test_rooms_without_cycle_pass(name: str) -> None:
    assert room_cycles(CLEAN[name]) == []


def test_import_of_a_room_above_is_found() -> None:
    graph = {"lib.rs": {"high/x.rs"}, "high/x.rs": {"low.rs"}, "low.rs": set(), "low/y.rs": {"high/z.rs"}}
    assert list(upward_imports(graph, ("lib", "high", "low"))) == ["low/y.rs -> high/z.rs"]


def test_room_without_place_in_the_order_is_found() -> None:
    assert list(upward_imports({"a.rs": set(), "b/x.rs": set()}, ("a",))) == ["b has no place in the order"]


def plant(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        file = folder / "src" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return folder


@pytest.mark.parametrize("name", DETOURS)
def test_import_through_a_module_above_is_found(name: str, tmp_path: Path) -> None:
    assert len(detours(plant(tmp_path, DETOURS[name]))) == 1


def test_direct_imports_pass(tmp_path: Path) -> None:
    assert detours(plant(tmp_path, DIRECT_IMPORTS)) == set()


@pytest.mark.parametrize("name", sorted(DIRECT))
def test_modules_of_crate_import_each_other_directly(name: str) -> None:
    assert detours(ROOT / "rust_core" / name) == set()


def test_crates_have_no_cycles_of_rooms() -> None:
    circles = {crate.name: crate.room_cycles for crate in crates() if crate.room_cycles}
    assert circles == {}


@pytest.mark.parametrize("name", ROOM_ORDER)
def test_crate_keeps_the_order_of_its_rooms(name: str) -> None:
    crate = next(crate for crate in crates() if crate.name == name)
    rooms = {file.removesuffix(".rs").partition("/")[0] for file in crate.graph}
    assert rooms == {*ROOM_ORDER[name]} - {"lib"}
    assert crate.upward_imports == []
