"""`foreseal cluster dev` on a folder or a port in use: nothing is started."""

import os
from pathlib import Path

import pytest

from foreseal.cli.main import run
from foreseal.cluster.folder_lock import locked_folder
from foreseal.errors import NodeError
from foreseal.server.sockets.listening import listen

# A program that is not etcd: it would be an error of its own if it was started.
_COMMAND = ("cluster", "dev", "--etcd", "true")


def test_folder_in_use_is_rejected(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "cluster"
    with locked_folder(folder):
        assert run([*_COMMAND, "--datadir", str(folder), "--port", "0"]) == 2
        assert sorted(path.name for path in folder.iterdir()) == ["LOCK"]
    error = capsys.readouterr().err
    assert error.startswith(f"foreseal: cluster {folder} is in use by process {os.getpid()}: ")
    assert error.count("\n") == 1


def test_port_in_use_is_rejected_before_the_folder_exists(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with listen("127.0.0.1", 0) as taken:
        port = taken.getsockname()[1]
        assert run([*_COMMAND, "--datadir", str(tmp_path / "cluster"), "--port", str(port)]) == 1
    expected = f"cannot listen on 127.0.0.1:{port}: Address already in use: choose another port with --port"
    assert capsys.readouterr().err == f"foreseal: {expected}\n"
    assert not (tmp_path / "cluster").exists()


def test_folder_is_free_after_its_holder(tmp_path: Path) -> None:
    with locked_folder(tmp_path), pytest.raises(NodeError, match="is in use by process"), locked_folder(tmp_path):
        pass
    with locked_folder(tmp_path):
        assert (tmp_path / "LOCK").read_text() == f"{os.getpid()}\n"
