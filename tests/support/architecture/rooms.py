"""Find cycles between the folders of a crate, and imports against the order of its rooms.

A room is a file or folder of a folder. `name.rs` and the folder `name/` are one room of the folder that holds both.
Inside `name/` that file is a room of its own, like `mod.rs`.
"""

from collections.abc import Iterator
from pathlib import PurePosixPath

from architecture.cycles import cycles

FileGraph = dict[str, set[str]]
"""The imports of each file of a crate, by path below `src`."""

ROOM_ORDER: dict[str, tuple[str, ...]] = {
    "node": (
        "lib",
        "process",
        "repair",
        "cluster",
        "control",
        "development",
        "driver",
        "produce",
        "shared",
        "store",
        "observe",
        "clock",
        "errors",
        "settings",
    ),
    "rpc": ("lib", "request", "methods", "context", "streams", "errors", "json", "params"),
}
"""Rooms of a crate from the top down, by short name of the crate. A room imports rooms to its right only."""

DIRECT = frozenset({"chain", "evm", "node", "rpc", "store"})
"""Crates whose modules import each other directly, never through a re-export of a module above them."""

_FOLDER_FILE = "mod"


def _parts(file: str) -> tuple[str, ...]:
    return PurePosixPath(file).with_suffix("").parts


def _rooms_of_import(source: str, target: str) -> tuple[str, str, str]:
    """Return the innermost folder that holds both files, and the room of each in it."""
    one, other = _parts(source), _parts(target)
    shared = 0
    while shared < min(len(one), len(other)) and one[shared] == other[shared]:
        shared += 1
    rooms = [parts[shared] if shared < len(parts) else _FOLDER_FILE for parts in (one, other)]
    return "/".join(one[:shared]), rooms[0], rooms[1]


def room_graphs(graph: FileGraph) -> dict[str, dict[str, set[str]]]:
    """Return the imports between the rooms of each folder, by path of the folder below `src`."""
    folders: dict[str, dict[str, set[str]]] = {}
    for source, targets in graph.items():
        for target in targets:
            folder, importer, imported = _rooms_of_import(source, target)
            folders.setdefault(folder, {}).setdefault(importer, set()).add(imported)
    return folders


def room_cycles(graph: FileGraph) -> list[list[str]]:
    """Return the groups of rooms of one folder that import each other in a circle, as paths below `src`."""
    return [
        [f"{folder}/{room}" if folder else room for room in members]
        for folder, rooms in sorted(room_graphs(graph).items())
        for members in cycles(rooms)
    ]


def upward_imports(graph: FileGraph, order: tuple[str, ...]) -> Iterator[str]:
    """Yield the imports from a room to one above it, and the rooms that the order does not name."""
    level = {room: index for index, room in enumerate(order)}
    for room in sorted({_parts(file)[0] for file in graph} - level.keys()):
        yield f"{room} has no place in the order"
    for source in sorted(graph):
        for target in sorted(graph[source]):
            one, other = level.get(_parts(source)[0]), level.get(_parts(target)[0])
            if one is not None and other is not None and one > other:
                yield f"{source} -> {target}"
