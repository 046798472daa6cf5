"""Origin of figures: the commit is that of Foreseal's own sources, never of a repository around an installation."""

import subprocess
from pathlib import Path

from foreseal._core import build_profile
from foreseal.bench.provenance import read_provenance, source_state


def git(folder: Path, *arguments: str) -> str:
    """Run git in a folder with a fixed identity and return its output."""
    identity = ["-c", "user.name=test", "-c", "user.email=test@example.org"]
    command = ["git", "-C", str(folder), *identity, *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def repository(folder: Path) -> Path:
    """Return a module inside a repository of one commit that does not contain the module."""
    git(folder, "init", "--quiet")
    (folder / "shop.py").write_text("price = 1\n")
    git(folder, "add", "shop.py")
    git(folder, "commit", "--quiet", "--message", "shop")
    module = folder / ".venv" / "lib" / "origin.py"
    module.parent.mkdir(parents=True)
    module.write_text("")
    return module


def test_the_commit_of_the_users_repository_is_not_reported(tmp_path: Path) -> None:
    module = repository(tmp_path)
    assert source_state(module) == (None, None)


def test_a_tracked_module_has_the_commit_of_its_checkout(tmp_path: Path) -> None:
    module = repository(tmp_path)
    git(tmp_path, "add", "--force", str(module))
    git(tmp_path, "commit", "--quiet", "--message", "module")
    head = git(tmp_path, "rev-parse", "HEAD")
    assert source_state(module) == (head, False)
    (tmp_path / "shop.py").write_text("price = 2\n")
    assert source_state(module) == (head, True)


def test_the_profile_of_the_build_is_reported() -> None:
    assert read_provenance("command", ())["profile"] == build_profile()
    assert build_profile() in {"release", "dist", "debug"}
