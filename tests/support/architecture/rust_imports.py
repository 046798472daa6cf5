"""Resolve the paths of a Rust crate to the files that define them."""

from pathlib import Path

from architecture.rust_modules import Module, RustPath, descend, has_logic, read_crate


class _Resolver:
    """Follows re-exports from a path to the module that defines its item."""

    def __init__(self, root: Module) -> None:
        self.by_path = {module.path: module for module in descend(root)}

    def resolve(self, module: Module, path: RustPath, seen: frozenset[tuple[RustPath, RustPath]]) -> Module | None:
        """Return the module that defines what the path names in this module; None if it is in another crate."""
        if (module.path, path) in seen:
            return None
        seen |= {(module.path, path)}
        if not path:
            return module
        first, rest = path[0], path[1:]
        if first == "crate":
            return self.resolve(self.by_path[()], rest, seen)
        if first == "super":
            return self.resolve(self.by_path[module.path[:-1]], rest, seen)
        if first == "self":
            return self.resolve(module, rest, seen)
        if first in module.children:
            return self.resolve(module.children[first], rest, seen)
        if first in module.items:
            return module
        if first in module.imports:
            return self.resolve(module, (*module.imports[first], *rest), seen)
        for glob in module.globs:
            source = self.resolve(module, glob, seen)
            target = source and source is not module and self.resolve(source, path, seen)
            if target:
                return target
        return None

    def targets(self, module: Module) -> set[Path]:
        """Return the files that a module refers to."""
        private = {(name,) for name in module.imports.keys() - module.re_exports}
        # A path of one name refers to an import or an item of a glob; without `::` a child module is not meant.
        paths = {
            path
            for path in module.references | private
            if len(path) > 1 or path[0] in module.imports or (module.globs and path[0] not in module.children)
        }
        targets = [self.resolve(module, path, frozenset()) for path in (*paths, *module.unnamed)]
        return {target.file for target in targets if target is not None and has_logic(target)}

    def detours(self, module: Module) -> set[RustPath]:
        """Return the imports of a module that name a re-export of a module above it."""
        return {
            path
            for path in module.imports.values()
            if len(path) > 1
            and (holder := self.resolve(module, path[:-1], frozenset())) is not None
            and holder is not module
            and module.path[: len(holder.path)] == holder.path
            and path[-1] in holder.imports
            and self.resolve(module, path, frozenset()) is not None
        }


def detours(crate: Path) -> set[str]:
    """Return the imports that go through a module above the importing one, each as `file: path`."""
    resolver = _Resolver(read_crate(crate))
    return {
        f"{module.file.relative_to(crate / 'src')}: {'::'.join(path)}"
        for module in resolver.by_path.values()
        for path in resolver.detours(module)
    }


def file_graph(crate: Path) -> dict[str, set[str]]:
    """Return the imports of each file of a crate that defines something, by path below `src`."""
    root = read_crate(crate)
    resolver = _Resolver(root)
    modules = list(descend(root))
    nodes = {module.file for module in modules if has_logic(module)}
    graph: dict[str, set[str]] = {str(file.relative_to(crate / "src")): set() for file in nodes}
    for module in modules:
        if module.file in nodes:
            targets = resolver.targets(module) - {module.file}
            graph[str(module.file.relative_to(crate / "src"))] |= {
                str(target.relative_to(crate / "src")) for target in targets
            }
    return graph
