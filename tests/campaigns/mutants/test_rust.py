"""The Rust mutants match the sources; `make mutants` verifies that each is caught."""

from functools import cache
from pathlib import Path

from mutants.rust import LIB, Mutant, load
from mutants.rust_copy import SWITCH, list_sources, load_patches
from repository import ROOT


def test_every_patch_applies_to_a_product_without_switches() -> None:
    patches = load_patches()
    assert len(patches) > 30
    for patch in patches:
        assert SWITCH.findall(patch.patched())
    sources = [path for path in list_sources() if path.endswith(".rs")]
    assert len(sources) > 100
    assert [path for path in sources if SWITCH.search((ROOT / path).read_text())] == []


def test_every_switch_is_listed_with_an_existing_test() -> None:
    mutants = load()
    assert len(mutants) > 70
    missing = [mutant for mutant in mutants if f"fn {mutant.test.rpartition('::')[2]}(" not in target_source(mutant)]
    assert missing == []


def target_source(mutant: Mutant) -> str:
    """Return the source of the target that has the test; empty if there is no such target."""
    crate = mutant.package.removeprefix("foreseal-")
    [folder] = [
        candidate
        for candidate in (ROOT / "rust_core" / crate, ROOT / "rust_core" / "testing" / crate)
        if (candidate / "Cargo.toml").is_file()
    ]
    tests = folder / "tests"
    if mutant.target == LIB:
        files = tuple((folder / "src").rglob("*.rs"))
    else:
        files = (tests / f"{mutant.target}.rs", *(tests / mutant.target).rglob("*.rs"))
    return joined(files)


@cache
def joined(files: tuple[Path, ...]) -> str:
    """Return the content of the files that exist."""
    return "".join(path.read_text() for path in files if path.is_file())
