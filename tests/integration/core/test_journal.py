"""foreseal._core.journal_check and journal_repair."""

from pathlib import Path

import orjson
import pytest

from foreseal._core import Node, journal_check, journal_repair
from foreseal.errors import NodeError
from live_node import produce, settings, wait_until


@pytest.fixture
def datadir(tmp_path: Path) -> Path:
    """Return a data directory with some blocks, without a running node."""
    produce(tmp_path, 3)
    return tmp_path


def refusal(datadir: Path) -> str:
    """Return the reason why a node does not start on `datadir`."""
    node = Node(settings(datadir))
    node.start()
    wait_until(lambda: not node.health()[0])
    node.stop()
    return node.health()[1]


def test_consistent_journal_passes_the_check(datadir: Path) -> None:
    report = orjson.loads(journal_check(datadir))
    assert report["fault"] is None
    assert report["identity"]["chain_id"] == 31337
    assert report["head"]["number"] >= 3
    assert report["step"]["number"] == report["head"]["number"] + 1
    repaired = {"report": report, "loss": None, "chain": None, "summary": None, "repaired": False}
    assert orjson.loads(journal_repair(str(datadir), True)) == repaired
    assert orjson.loads(journal_check(str(datadir))) == report


def test_a_damaged_journal_is_truncated_only_on_request(datadir: Path) -> None:
    [segment] = (datadir / "journal").glob("*.segment")
    content = bytearray(segment.read_bytes())
    before = orjson.loads(journal_check(datadir))
    # The damage is inside the second append (appends begin with the same bytes at 512-byte boundaries): later ones are
    # intact, so this is not a torn tail.
    starts = [at for at in range(512, len(content), 512) if content[at : at + 4] == content[512:516]]
    content[starts[1] + 100] ^= 1
    segment.write_bytes(content)
    report = orjson.loads(journal_check(datadir))
    assert report["fault"]["position"]["segment"] == 1
    assert "corrupt" in refusal(datadir)

    plan = orjson.loads(journal_repair(datadir, False))
    assert plan["report"] == report
    assert plan["loss"]["appends"] >= before["appends"] - 1
    assert not plan["repaired"]
    assert orjson.loads(journal_check(datadir)) == report

    assert orjson.loads(journal_repair(datadir, True))["repaired"]
    assert orjson.loads(journal_check(datadir))["fault"] is None


def test_running_node_locks_its_journal(tmp_path: Path) -> None:
    node = Node(settings(tmp_path))
    node.start()
    wait_until(lambda: node.ready()[0])
    for look in (lambda: journal_check(tmp_path), lambda: journal_repair(tmp_path, True)):
        with pytest.raises(NodeError, match="in use") as error:
            look()
        assert error.value.kind == "in-use"
    node.stop()


def test_check_of_a_missing_journal_creates_no_files(tmp_path: Path) -> None:
    with pytest.raises(NodeError, match="has no journal") as error:
        journal_check(tmp_path / "nowhere")
    assert error.value.kind == "journal"
    assert list(tmp_path.iterdir()) == []
