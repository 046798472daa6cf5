"""The key that signs steps: generated once, supplied, or rejected with one line and exit code 2."""

import stat
from pathlib import Path

import pytest
from eth_account import Account

from command import foreseal
from live import live_node
from live.accounts import DEV_ACCOUNTS, key_of


def held(path: Path, text: str, mode: int = 0o600) -> Path:
    """Write a file with these permissions."""
    path.write_text(text)
    path.chmod(mode)
    return path


def test_first_start_creates_a_key_and_the_next_loads_it(tmp_path: Path) -> None:
    signers = set()
    for _ in range(2):
        with live_node("--datadir", str(tmp_path)) as node:
            signers.add(node.rpc("foreseal_status")["signer"])
    path = tmp_path / "sequencer.key"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert signers == {Account.from_key(path.read_text().strip()).address.lower()}


def test_configured_key_is_used_and_none_is_created(tmp_path: Path) -> None:
    account = DEV_ACCOUNTS[3]
    given = held(tmp_path / "given", key_of(account) + "\n")
    data = tmp_path / "data"
    with live_node("--datadir", str(data), "--sequencer-key", str(given)) as node:
        assert node.rpc("foreseal_status")["signer"] == account.address.lower()
    assert not (data / "sequencer.key").exists()


WIDE = ("11" * 32, 0o644, "other users have access to it (mode 644): chmod 600")
SHORT = ("11" * 31, 0o600, "it must contain a key: 64 hex digits and nothing else")


def refusal(data: Path, path: Path, *options: object) -> str:
    """Return the reason why a node does not start with the key at `path`."""
    done = foreseal("dev", "--port", "0", "--datadir", data, *options)
    begin = f"foreseal: sequencer key {path}"
    assert done.returncode == 2
    assert done.stderr.startswith(begin)
    return done.stderr.removeprefix(begin).removeprefix(": ").lstrip()


@pytest.mark.parametrize(("text", "mode", "words"), [WIDE, SHORT])
def test_invalid_key_file_is_rejected_and_left_unchanged(tmp_path: Path, text: str, mode: int, words: str) -> None:
    data = tmp_path / "data"
    data.mkdir()
    own, given = held(data / "sequencer.key", text, mode), held(tmp_path / "given", text, mode)
    assert refusal(data, own) == f"{words}\n"
    assert refusal(data, given, "--sequencer-key", given) == f"{words}\n"
    assert (own.read_text(), given.read_text()) == (text, text)


def test_missing_configured_key_file_is_not_created(tmp_path: Path) -> None:
    path = tmp_path / "given"
    words = refusal(tmp_path / "data", path, "--sequencer-key", path)
    assert words == "cannot open it: No such file or directory (os error 2)\n"
    assert not path.exists()


def test_a_missing_or_changed_key_is_rejected_unless_requested(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with live_node("--datadir", str(data)) as node:
        before = node.rpc("foreseal_status")["signer"]
    own = data / "sequencer.key"
    text = own.read_text()
    own.unlink()
    words = refusal(data, own)
    assert words.startswith("is missing, and the steps of this data directory are signed by 0x")
    assert before in words.lower()
    assert "--new-sequencer-key" in words
    assert not own.exists()
    changed = ("1" if text[0] != "1" else "2") + text[1:]
    held(own, changed)
    words = refusal(data, own)
    account = Account.from_key(changed.strip()).address
    assert account in words
    assert before in words.lower()
    given = held(tmp_path / "given", key_of(DEV_ACCOUNTS[3]))
    assert DEV_ACCOUNTS[3].address in refusal(data, given, "--sequencer-key", given)
    with live_node("--datadir", str(data), "--new-sequencer-key") as node:
        assert node.rpc("foreseal_status")["signer"] == account.lower()
    # It is the signer from now on.
    with live_node("--datadir", str(data)) as node:
        assert node.rpc("foreseal_status")["signer"] == account.lower()
