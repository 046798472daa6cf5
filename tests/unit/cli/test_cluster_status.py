"""The tables of `foreseal cluster status`."""

import io

from rich.console import Console
from rich.table import Table

from foreseal.cli.cluster_status import _engine_table, _member_table
from foreseal.cluster.members import ClusterMember

_NAME = "[/x] [red]a"


def _rendered(table: Table) -> str:
    out = io.StringIO()
    Console(width=200, file=out).print(table)
    return out.getvalue()


def test_markup_in_a_member_name_is_shown_as_text() -> None:
    member = ClusterMember(name=_NAME, role="standby", rpc="http://127.0.0.1:8545")
    assert _NAME in _rendered(_member_table([member], None))


def test_markup_in_an_engine_name_is_shown_as_text() -> None:
    endpoint = {
        "id": 1,
        "endpoint": "127.0.0.1:2379",
        "version": "3.7.3",
        "leader": True,
        "hasLeader": True,
        "databaseBytes": 1,
        "alarms": [],
        "error": None,
    }
    table = _engine_table({"members": [{"id": 1, "name": _NAME}], "endpoints": [endpoint]})
    assert _NAME in _rendered(table)
