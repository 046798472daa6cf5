"""The source distribution: everything that a build needs, and nothing else."""

import subprocess
import tarfile
import tomllib
from pathlib import Path

import orjson
import pytest

from distribution.build import build_sdist
from repository import ROOT

pytestmark = pytest.mark.timeout(600)


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the unpacked source distribution."""
    made = build_sdist(tmp_path_factory.mktemp("sdist"))
    folder = tmp_path_factory.mktemp("unpacked")
    with tarfile.open(made) as archive:
        archive.extractall(folder, filter="data")
    (root,) = folder.iterdir()
    return root


def test_sdist_build_uses_the_locked_versions(unpacked: Path) -> None:
    # Members that no build of the package needs (benchmarks, test support) are left out, so the lock may get shorter.
    command = ["cargo", "metadata", "--offline", "--format-version", "1"]
    done = subprocess.run(command, cwd=unpacked, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    lock = tomllib.loads((ROOT / "Cargo.lock").read_text())
    locked = {(package["name"], package["version"]) for package in lock["package"]}
    taken = {(package["name"], package["version"]) for package in orjson.loads(done.stdout)["packages"]}
    assert len(taken) > 100
    assert taken <= locked


def test_sdist_contains_every_source_of_the_package(unpacked: Path) -> None:
    for folder, pattern in (("rust_core/py", "*.rs"), ("python", "*.py"), ("python", "*.pyi")):
        wanted = {path.relative_to(ROOT) for path in (ROOT / folder).rglob(pattern)}
        assert wanted
        assert {path.relative_to(unpacked) for path in (unpacked / folder).rglob(pattern)} == wanted


def test_sdist_contains_no_build_or_environment(unpacked: Path) -> None:
    assert not [
        path for path in unpacked.rglob("*") if path.name in ("target", ".venv", "node_modules", "_core.abi3.so")
    ]
