"""The tables of `foreseal cluster status`."""

import pytest

from foreseal.cli.cluster_status import _print_chain, member_rows
from foreseal.cli.journal_engine_rows import engine_rows, finding_text
from foreseal.cli.output import print_table, printable
from foreseal.cluster.members import ClusterMember

_NAME = "[/x] [red]a"
_CONTROL = "\x1b[2Ja\r\n\u202eb"
_ANSWERING = {
    "id": "1",
    "endpoint": "127.0.0.1:2379",
    "version": "3.7.3",
    "leader": True,
    "hasLeader": True,
    "databaseBytes": 1_250_000,
    "usedBytes": 1_000_000,
    "alarms": [],
    "error": None,
}
_LOST = {"endpoint": "127.0.0.1:2380", "error": "etcd at 127.0.0.1:2380 is not usable: timeout"}
_MEMBERS = [
    {"id": "1", "name": "etcd-1", "urls": ["http://127.0.0.1:2379"]},
    {"id": "2", "name": "etcd-2", "urls": ["https://etcd-2:2379", "https://127.0.0.1:2380"]},
]


def member(name: str, **fields: object) -> ClusterMember:
    return ClusterMember(**{"name": name, "role": "standby", "rpc": "http://a", **fields})  # type: ignore[arg-type]


def test_markup_in_a_name_is_shown_as_text(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(member_rows([member(_NAME)], None))
    print_table(engine_rows({"members": [{"id": "1", "name": _NAME, "urls": []}], "endpoints": [_ANSWERING]}))
    assert capsys.readouterr().out.count(_NAME) == 2


def test_control_characters_of_other_machines_are_replaced(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(member_rows([member(_CONTROL, version=_CONTROL, feed=_CONTROL)], None))
    takeover = {"reason": _CONTROL, "epoch": 1, "at": 2**63 - 1, "fenceMs": 1, "readyMs": 2}
    owner = {"name": _CONTROL, "epoch": 1}
    _print_chain({"owner": owner, "head": None}, [member(_CONTROL, last_takeover=takeover, is_stale=True)])
    text = capsys.readouterr().out
    assert text.replace("\n", "").isprintable()
    assert "?[2Ja???b" in text
    assert len(text.splitlines()) == 2 + 4
    assert printable("node-1 \u00e9\u4e2d") == "node-1 \u00e9\u4e2d"


def test_members_are_in_the_order_of_their_roles() -> None:
    members = [
        member("gone", role="leader", error="timeout"),
        member("r", role="replica", latency_ms=1.0),
        member("s", latency_ms=1.0),
        member("l", role="leader", latency_ms=1.25, block=16, index=2, epoch=3),
    ]
    _, *rows = member_rows(members, {"name": "l"})
    assert [row[:2] for row in rows] == [["l", "leader"], ["s", "standby"], ["r", "replica"], ["gone", "former leader"]]
    assert rows[0][5:] == ["3", "16.2", "-", "-", "1.2 ms"]
    assert rows[3][-1] == "unreachable"


def test_engine_rows_have_hashes_only_if_they_were_read() -> None:
    engine = {"members": _MEMBERS, "endpoints": [_ANSWERING, _LOST]}
    head, answering, lost = engine_rows(engine)
    assert head[-1] == "in use"
    assert answering == ("etcd-1", "127.0.0.1:2379", "3.7.3", "yes", "ok", "1.2 MB", "1.0 MB")
    assert lost == ("etcd-2", "127.0.0.1:2380", "-", "-", "unreachable: timeout", "-", "-")
    hashes = [{"endpoint": "127.0.0.1:2379", "hash": 255, "error": None}, _LOST]
    head, answering, lost = engine_rows({**engine, "hashes": hashes})
    assert (head[-1], answering[-1], lost[-1]) == ("hash", "000000ff", "-")


def test_member_without_leader_is_shown() -> None:
    endpoint = {**_ANSWERING, "leader": False, "hasLeader": False, "alarms": ["NOSPACE", "CORRUPT"]}
    _, row = engine_rows({"members": [], "endpoints": [endpoint]})
    assert row[0] == "1"
    assert row[3:5] == ("none elected", "NOSPACE, CORRUPT")


def test_lost_member_that_no_member_lists_has_no_name() -> None:
    _, row = engine_rows({"members": [], "endpoints": [_LOST]})
    assert row[:2] == ("-", "127.0.0.1:2380")


def test_finding_names_each_cause_once() -> None:
    message = "etcd at 127.0.0.1:1 is not usable: tcp connect error: transport error: tcp connect error: refused\x1b"
    text = finding_text({"message": message})
    assert text == "etcd at 127.0.0.1:1 is not usable: tcp connect error: transport error: refused?"
