"""Read the modules of a Rust crate: the items, imports and paths of each."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from architecture.rust_tokens import closing, split, without_tests

RustPath = tuple[str, ...]

_ITEMS = ("fn", "struct", "enum", "union", "trait", "type", "const", "static")
_LOGIC = {*_ITEMS, "impl", "macro_rules"}


@dataclass
class Module:
    """A module: a file, or a block inside one."""

    path: RustPath
    file: Path
    children: dict[str, "Module"] = field(default_factory=dict)
    items: set[str] = field(default_factory=set)
    imports: dict[str, RustPath] = field(default_factory=dict)
    re_exports: set[str] = field(default_factory=set)
    globs: list[RustPath] = field(default_factory=list)
    unnamed: list[RustPath] = field(default_factory=list)
    references: set[RustPath] = field(default_factory=set)


def _use_tree(tokens: list[str], prefix: RustPath) -> Iterator[tuple[RustPath, str]]:
    """Yield the path and the name of each import in the tree of a `use`; the name of a glob is `*`."""
    index, path = 0, prefix
    while index < len(tokens):
        token = tokens[index]
        if token == "{":
            end = closing(tokens, index)
            start, depth = index + 1, 0
            for position in range(index + 1, end + 1):
                depth += {"{": 1, "}": -1}.get(tokens[position], 0)
                if (tokens[position] == "," and depth == 0) or position == end:
                    if position > start:
                        yield from _use_tree(tokens[start:position], path)
                    start = position + 1
            return
        if token == "*":
            yield path, "*"
            return
        if token == "as":
            yield path, tokens[index + 1]
            return
        if token != "::":
            path = path if token == "self" and path else (*path, token)
        index += 1
    if path:
        yield path, path[-1]


class _Reader:
    """Reads the tokens of one file into its modules."""

    def __init__(self, crate: Path) -> None:
        self.source = crate / "src"

    def file(self, path: RustPath, file: Path) -> Module:
        module = Module(path, file)
        self.block(module, without_tests(split(file.read_text())))
        return module

    def child(self, module: Module, name: str) -> Module:
        folder = self.source.joinpath(*module.path)
        file = next(file for file in (folder / f"{name}.rs", folder / name / "mod.rs") if file.exists())
        return self.file((*module.path, name), file)

    def block(self, module: Module, tokens: list[str]) -> None:
        """Read the tokens of a module, also those inside its functions."""
        index, depth = 0, 0
        while index < len(tokens):
            token = tokens[index]
            following = tokens[index + 1] if index + 1 < len(tokens) else ""
            if token == "mod" and following.isidentifier():
                index = self.declaration(module, tokens, index, following)
                continue
            if token == "use" and (following.isidentifier() or following in ("{", "::")):
                end = tokens.index(";", index)
                public = index > 0 and tokens[index - 1] in ("pub", ")")
                self.use(module, tokens[index + 1 : end], public=public)
                index = end + 1
                continue
            if token in _ITEMS and depth == 0 and following.isidentifier():
                name = tokens[index + 2] if following in ("mut", "fn", "unsafe") else following
                module.items.add(name)
            elif token == "macro_rules" and depth == 0:
                module.items.add(tokens[index + 2])
            elif token == "impl" and depth == 0:
                module.items.add("impl")
            depth += {"{": 1, "}": -1}.get(token, 0)
            index = self.reference(module, tokens, index)

    def declaration(self, module: Module, tokens: list[str], index: int, name: str) -> int:
        if tokens[index + 2] == ";":
            module.children[name] = self.child(module, name)
            return index + 3
        end = closing(tokens, index + 2)
        inner = Module((*module.path, name), module.file)
        self.block(inner, tokens[index + 3 : end])
        module.children[name] = inner
        return end + 1

    def use(self, module: Module, tokens: list[str], *, public: bool) -> None:
        for path, name in _use_tree(tokens, ()):
            if name == "*":
                module.globs.append(path)
            elif name == "_":
                module.unnamed.append(path)
            else:
                module.imports[name] = path
                if public:
                    module.re_exports.add(name)

    def reference(self, module: Module, tokens: list[str], index: int) -> int:
        """Note the path that begins here, if any; return the index after what was read."""
        before = tokens[index - 1] if index else ""
        if not tokens[index].isidentifier() or before in ("::", "."):
            return index + 1
        path = [tokens[index]]
        index += 1
        while index + 1 < len(tokens) and tokens[index] == "::" and tokens[index + 1].isidentifier():
            path.append(tokens[index + 1])
            index += 2
        module.references.add(tuple(path))
        return index


def read_crate(crate: Path) -> Module:
    """Return the root module of a crate."""
    return _Reader(crate).file((), crate / "src" / "lib.rs")


def has_logic(module: Module) -> bool:
    """Return True if a module defines something, rather than only declares and re-exports."""
    return bool(module.items)


def descend(module: Module) -> Iterator[Module]:
    """Yield a module and all modules below it."""
    yield module
    for child in module.children.values():
        yield from descend(child)
