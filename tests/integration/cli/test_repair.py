"""`foreseal db repair`: damaged data is rebuilt from the rest, from a backup or from the journal."""

import random
import shutil
from collections.abc import Iterator
from pathlib import Path

import orjson
import pytest

from command import foreseal
from damage import chain
from foreseal._core import db_stats, db_verify
from store_pages import PAGE, replace

INPUT = b"\xab" * 600


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a chain without a running node."""
    made = tmp_path_factory.mktemp("original") / "chain"
    chain.make(made)
    return made


@pytest.fixture
def datadir(original: Path, tmp_path: Path) -> Iterator[Path]:
    """Provide a copy of the original, to be damaged."""
    copied = chain.copy(original)
    yield copied
    shutil.rmtree(copied)


def faults(datadir: Path) -> list[dict[str, str]]:
    entries: list[dict[str, str]] = orjson.loads(db_verify(str(datadir), lambda *_: None, None))["faults"]
    return entries


def damage(datadir: Path, tables: set[str]) -> None:
    """Change a bit in a page of one of these tables, and of no other."""
    data = datadir / "store" / "data.mdb"
    whole = data.read_bytes()
    choice = random.Random(3)
    for _ in range(2000):
        at = choice.randrange(2 * PAGE, len(whole))
        data.write_bytes(whole[:at] + bytes([whole[at] ^ 4]) + whole[at + 1 :])
        try:
            entries = faults(datadir)
        except Exception:
            entries = []
        if entries and {fault["table"] for fault in entries} <= tables:
            return
    raise AssertionError("no page of these tables was met")


def head(datadir: Path) -> object:
    return orjson.loads(db_stats(str(datadir), None))["head"]


def assert_repaired(datadir: Path, original: Path, method: str, *more: str | Path) -> None:
    """Assert that the store is restored, and that the damaged one is retained."""
    damaged = (datadir / "store" / "data.mdb").read_bytes()
    unsure = foreseal("db", "repair", datadir, *more, input="n\n")
    assert (unsure.returncode, f"the repair will {method}" in unsure.stdout) == (130, True)
    assert (datadir / "store" / "data.mdb").read_bytes() == damaged
    repaired = foreseal("db", "repair", datadir, "--yes", *more)
    assert repaired.returncode == 0, repaired.stderr
    assert "repaired and verified the store" in repaired.stdout
    assert (datadir / "store.damaged" / "data.mdb").read_bytes() == damaged
    assert faults(datadir) == []
    assert head(datadir) == head(original)
    driver = chain.Driver(datadir)
    calls = list(chain.questions(driver))
    driver.close()
    whole = chain.copy(original)
    assert chain.query(datadir, calls) == chain.query(whole, calls)
    shutil.rmtree(whole)
    again = foreseal("db", "repair", datadir)
    assert (again.returncode, "store.damaged is from an earlier repair" in again.stderr) == (2, True)


def test_consistent_store_is_not_repaired(datadir: Path) -> None:
    ended = foreseal("db", "repair", datadir)
    assert (ended.returncode, ended.stdout) == (0, "the store is consistent: nothing to repair\n")
    assert not (datadir / "store.damaged").exists()


@pytest.mark.parametrize("table", ["log_index", "transaction_hashes"])
def test_derived_tables_are_rebuilt(datadir: Path, original: Path, table: str) -> None:
    damage(datadir, {table})
    # The repair does not need the journal.
    assert_repaired(datadir, original, "copy the intact entries")


def test_store_is_rebuilt_from_the_complete_journal(datadir: Path, original: Path) -> None:
    replace(datadir, INPUT, INPUT[::-1].replace(b"\xab", b"\xac"), sealed=False)
    assert_repaired(datadir, original, "rebuild the store by replaying the journal")


def test_other_node_is_not_used_if_the_journal_is_complete(datadir: Path, original: Path) -> None:
    replace(datadir, INPUT, INPUT[::-1].replace(b"\xab", b"\xac"), sealed=False)
    # The port has no listener.
    url = "http://127.0.0.1:1"
    unsure = foreseal("db", "repair", datadir, "--from", url, input="n\n")
    assert f"no block needs to be fetched from {url}" in unsure.stdout
    assert_repaired(datadir, original, "rebuild the store by replaying the journal", "--from", url)


def test_store_with_damaged_roots_is_rebuilt(datadir: Path, original: Path) -> None:
    data = datadir / "store" / "data.mdb"
    data.write_bytes(b"\0" * 4 * PAGE + data.read_bytes()[4 * PAGE :])
    assert_repaired(datadir, original, "rebuild the store by replaying the journal")


def test_store_is_rebuilt_from_a_backup_and_the_journal(datadir: Path, original: Path, tmp_path: Path) -> None:
    early = chain.copy(original)
    assert foreseal("backup", early, tmp_path / "backup").returncode == 0
    shutil.rmtree(early)
    replace(datadir, INPUT, INPUT[::-1].replace(b"\xab", b"\xac"), sealed=False)
    assert_repaired(datadir, original, "restore the store from the backup", "--backup", tmp_path / "backup")


def test_unrecoverable_data_is_reported(datadir: Path) -> None:
    replace(datadir, INPUT, INPUT[::-1].replace(b"\xab", b"\xac"), sealed=False)
    (segment,) = (datadir / "journal").iterdir()
    bytes_ = bytearray(segment.read_bytes())
    bytes_[8192] ^= 1
    segment.write_bytes(bytes_)
    before = (datadir / "store" / "data.mdb").read_bytes()
    ended = foreseal("db", "repair", datadir, "--yes")
    assert (ended.returncode, "the store cannot be repaired" in ended.stderr) == (1, True)
    assert (datadir / "store" / "data.mdb").read_bytes() == before
    assert not (datadir / "store.damaged").exists()
