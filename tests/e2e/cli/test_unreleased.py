"""A data directory of an unreleased version, `fixtures/unreleased.tar.xz`: its store has schema 1 of that version."""

import hashlib
import tarfile
from pathlib import Path

import pytest

from command import foreseal
from repository import SUPPORT

FIXTURE = SUPPORT / "fixtures" / "unreleased.tar.xz"
MESSAGE = "was written by an unreleased version of Foreseal: start with an empty data directory"
# Files that hold no data of the chain: locks.
LOCKS = {"LOCK", "lock.mdb"}


@pytest.fixture
def datadir(tmp_path: Path) -> Path:
    """Return the directory in the state of that version."""
    folder = tmp_path / "data"
    with tarfile.open(FIXTURE) as archive:
        archive.extractall(folder, filter="data")
    return folder


def content(datadir: Path) -> dict[str, str]:
    """Return a hash of each file by its path."""
    files = (path for path in datadir.rglob("*") if path.is_file() and path.name not in LOCKS)
    return {str(path.relative_to(datadir)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def test_every_command_rejects_it_and_changes_nothing(datadir: Path, tmp_path: Path) -> None:
    before = content(datadir)
    for command in (
        ("run", "--datadir", datadir, "--port", "0"),
        ("db", "stats", datadir),
        ("db", "verify", datadir),
        ("db", "repair", datadir, "--yes"),
        ("backup", datadir, tmp_path / "backup"),
        ("export", "--datadir", datadir, tmp_path / "chain.rlp"),
        ("journal", "check", datadir),
        ("journal", "repair", datadir, "--yes"),
        ("journal", "show", datadir),
    ):
        refused = foreseal(*command)
        code = 1 if command[0] == "journal" else 2
        assert (refused.returncode, MESSAGE in refused.stderr) == (code, True), (command, refused)
        assert refused.stderr.splitlines()[-1].startswith("foreseal: "), refused.stderr
    assert content(datadir) == before
    assert not (tmp_path / "backup").exists()
    assert not (tmp_path / "chain.rlp").exists()
