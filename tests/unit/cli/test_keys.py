"""API keys on the command line: creation, list, revocation, and the format of their file."""

import errno
import os
import re
import threading
from pathlib import Path
from typing import Any

import orjson
import pytest

from foreseal.cli.keys import parse_expiry
from foreseal.cli.main import run
from foreseal.server.auth import keys
from foreseal.server.auth.key_file import update_keys

NOW = 1_700_000_000.0


def keys_command(capsys: pytest.CaptureFixture[str], folder: Path, *arguments: object) -> str:
    """Return the standard output of a successful command."""
    assert run(["keys", *map(str, arguments), "--datadir", str(folder)]) == 0
    return capsys.readouterr().out


def refusal(capsys: pytest.CaptureFixture[str], *arguments: object, code: int = 2) -> str:
    assert run(["keys", *map(str, arguments)]) == code
    return capsys.readouterr().err


def test_key_is_printed_once_and_stored_as_its_hash(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = keys_command(capsys, tmp_path, "create", "shop").strip()
    path = tmp_path / keys.KEY_FILE
    assert re.fullmatch(r"fs_[0-9a-f]{10}_[0-9a-f]{64}", text)
    assert path.stat().st_mode & 0o777 == 0o600
    assert text.rpartition("_")[2] not in path.read_text()
    (key,) = keys.read_keys(path).values()
    assert (key.name, key.tier, key.rate, key.burst, key.expires, key.revoked) == ("shop", "dedicated", *[None] * 4)
    assert key.hash == keys.hash_key(text)
    assert sorted(entry.name for entry in tmp_path.iterdir()) == [keys.KEY_FILE, "keys.lock"]


def test_list_shows_the_options_of_each_key(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    keys_command(capsys, tmp_path, "create", "a", "--rate", "600/m", "--burst", 7, "--tier", "public")
    keys_command(capsys, tmp_path, "create", "b b", "--rate", 100, "--expires", "2999-01-31")
    keys_command(capsys, tmp_path, "create", "c", "--rate", 0, "--expires", "30d")
    listed = orjson.loads(keys_command(capsys, tmp_path, "list", "--json"))
    assert all("hash" not in entry for entry in listed)
    assert [(e["name"], e["tier"], e["rate"], e["burst"], e["state"]) for e in listed] == [
        ("a", "public", "600/m", 7, "active"),
        ("b b", "dedicated", "100/s", None, "active"),
        ("c", "dedicated", "0", None, "active"),
    ]
    assert listed[1]["expires"] == 32_474_736_000
    assert listed[2]["expires"] == listed[2]["created"] + 30 * 86_400
    head, *rows = keys_command(capsys, tmp_path, "list").splitlines()
    assert head.split() == ["id", "name", "tier", "rate", "created", "expires", "state"]
    assert [re.split(r"\s{2,}", row)[1:4] for row in rows] == [
        ["a", "public", "600/m, burst 7"],
        ["b b", "dedicated", "100/s, burst 200"],
        ["c", "dedicated", "unlimited"],
    ]


def test_a_key_is_revoked_by_its_name_or_its_id(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("a", "b"):
        keys_command(capsys, tmp_path, "create", name)
    first, second = keys.read_keys(tmp_path / keys.KEY_FILE)
    keys_command(capsys, tmp_path, "revoke", "a")
    keys_command(capsys, tmp_path, "revoke", second)
    assert [key.state(NOW) for key in keys.read_keys(tmp_path / keys.KEY_FILE).values()] == ["revoked", "revoked"]
    for id_or_name in ("a", first, "c"):
        message = refusal(capsys, "revoke", id_or_name, "--datadir", tmp_path)
        assert f"no active key has the id or name {id_or_name}" in message
    keys_command(capsys, tmp_path, "create", "a")
    assert len(keys.read_keys(tmp_path / keys.KEY_FILE)) == 3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["create", "there"], "a key named there exists: revoke it first, or choose another name"),
        (["create", ""], "NAME must have 1 to 64 printable characters"),
        (["create", "a\nb"], "NAME must have 1 to 64 printable characters"),
        (["create", "x" * 65], "NAME must have 1 to 64 printable characters"),
        (["create", "n", "--burst", "3"], "--burst requires --rate"),
        (
            ["create", "n", "--rate", "1/h", "--burst", "30000"],
            "--burst: 30000 calls are too large a burst at 1/h: it",
        ),
        (["create", "n", "--rate", "fast"], "'fast' is not a rate: write calls per unit of time"),
        (["create", "n", "--tier", "admin"], "'admin' is not one of 'dedicated', 'public'"),
        (["create", "n", "--expires", "soon"], "--expires: 'soon' is not a time: write 30d, 12h, 2027-01-31"),
        (["create", "n", "--expires", "2001-01-31"], "--expires: 2001-01-31 is in the past"),
    ],
)
def test_wrong_use_changes_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    keys_command(capsys, tmp_path, "create", "there")
    before = (tmp_path / keys.KEY_FILE).read_bytes()
    assert message in refusal(capsys, *arguments, "--datadir", tmp_path)
    assert (tmp_path / keys.KEY_FILE).read_bytes() == before


def test_keys_use_the_folder_of_the_settings(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "Missing option '--datadir'" in refusal(capsys, "list")
    missing = tmp_path / "missing"
    assert f"--datadir: {missing} is not a folder" in refusal(capsys, "create", "a", "--datadir", missing)
    monkeypatch.setenv("FORESEAL_DATADIR", str(tmp_path))
    assert run(["keys", "create", "a"]) == 0
    assert (tmp_path / keys.KEY_FILE).exists()


def test_invalid_key_file_is_not_overwritten(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / keys.KEY_FILE
    path.write_text("{")
    for command in (["create", "a"], ["list"], ["revoke", "a"]):
        assert f"cannot use the API keys in {path}: " in refusal(capsys, *command, "--datadir", tmp_path, code=1)
    assert path.read_text() == "{"


@pytest.mark.parametrize("call", ["open", "fsync", "replace"])
@pytest.mark.parametrize("command", [["create", "b"], ["revoke", "a"]])
def test_full_disk_leaves_the_keys_unchanged(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, command: list[str], call: str
) -> None:
    keys_command(capsys, tmp_path, "create", "a")
    path = tmp_path / keys.KEY_FILE
    before = path.read_bytes()
    real = os.open

    def refuse(target: Any, flags: int = 0, *more: Any, **others: Any) -> int:
        if call == "open" and not flags & os.O_EXCL:
            return real(target, flags, *more, **others)
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as full:
        full.setattr(os, call, refuse)
        assert run(["keys", *command, "--datadir", str(tmp_path)]) == 1
    shown = capsys.readouterr()
    assert shown.err == f"foreseal: cannot write the API keys in {path}: No space left on device\n"
    assert shown.out == "", "a key that is not kept is not shown"
    assert path.read_bytes() == before
    assert sorted(entry.name for entry in tmp_path.iterdir()) == [keys.KEY_FILE, "keys.lock"]
    assert run(["keys", *command, "--datadir", str(tmp_path)]) == 0


def test_concurrently_created_keys_are_all_stored(tmp_path: Path) -> None:
    def add(name: str) -> None:
        with update_keys(tmp_path) as stored_keys:
            key, _ = keys.create_key(name, 1)
            stored_keys[key.id] = key

    threads = [threading.Thread(target=add, args=(str(number),)) for number in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {key.name for key in keys.read_keys(tmp_path / keys.KEY_FILE).values()} == {
        str(number) for number in range(20)
    }


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("12h", NOW + 43_200),
        ("30d", NOW + 2_592_000),
        ("2w", NOW + 1_209_600),
        ("2027-01-31", 1_801_353_600),
        ("2027-01-31T12:00:00Z", 1_801_396_800),
        ("2027-01-31T12:00:00+02:00", 1_801_389_600),
    ],
)
def test_times_are_parsed_in_readable_formats(text: str, expected: float) -> None:
    assert parse_expiry(text, NOW) == expected
