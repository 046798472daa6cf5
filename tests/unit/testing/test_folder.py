"""Folders for the data of test chains."""

import os
import tempfile
from pathlib import Path

import pytest

from foreseal.testing import folder as folders
from foreseal.testing.folder import chain_folder, remove_abandoned


def old_folder(parent: Path, name: str) -> Path:
    """Create a folder with a file, as a process of yesterday would have left it."""
    folder = parent / f"foreseal-test-{name}"
    folder.mkdir()
    (folder / "journal").write_bytes(b"data")
    os.utime(folder, (1, 1))
    return folder


def test_a_folder_in_memory_is_used_if_it_has_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    memory, disk = tmp_path / "memory", tmp_path / "disk"
    memory.mkdir()
    disk.mkdir()
    monkeypatch.setattr(folders, "MEMORY", memory)
    monkeypatch.setattr(tempfile, "tempdir", str(disk))
    for free, parent in [(0, memory), (1 << 62, disk)]:
        monkeypatch.setattr(folders, "MIN_FREE", free)
        with chain_folder() as folder:
            assert folder.parent == parent
        assert not folder.exists()
    monkeypatch.setattr(folders, "MIN_FREE", 0)
    monkeypatch.setattr(folders, "MEMORY", tmp_path / "missing")
    with chain_folder() as folder:
        assert folder.parent == disk


def test_young_and_foreign_folders_stay(tmp_path: Path) -> None:
    abandoned, young = old_folder(tmp_path, "old"), old_folder(tmp_path, "young")
    os.utime(young)
    (tmp_path / "foreseal-other").mkdir()
    os.utime(tmp_path / "foreseal-other", (1, 1))
    (tmp_path / "foreseal-test-link").symlink_to(young, target_is_directory=True)
    remove_abandoned(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "foreseal-other",
        "foreseal-test-link",
        "foreseal-test-young",
    ]
    assert not abandoned.exists()
