"""The schema of a database: it is created, upgraded in one transaction, or rejected without a change."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import MetaData, create_engine, inspect, select, text
from sqlalchemy.orm import InstrumentedAttribute

import foreseal.payments.api.models
import foreseal.payments.x402.buyer.models
import foreseal.payments.x402.models
from foreseal.payments.ledger import Database, WrongSchema, schema, upgrade_locks
from foreseal.payments.ledger.database import find_revision
from foreseal.payments.ledger.errors import UpgradeBlocked
from foreseal.payments.ledger.record import Record
from foreseal.payments.x402.seller.paid_api import PaidApi
from payments.next_schema import install_next_schema

MODULES = (foreseal.payments.api.models, foreseal.payments.x402.models, foreseal.payments.x402.buyer.models)
NODE = "http://127.0.0.1:1"
CREATE = "import sys; from foreseal.payments.ledger import Database; Database(sys.argv[1]).close()"


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """Provide the URL of a database without tables."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path}/pay.db"
        return
    server = request.getfixturevalue("postgresql")
    name = f"migration_{os.getpid()}"
    engine = create_engine(server, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(text(f"CREATE DATABASE {name}"))
        yield server.replace("/postgres?", f"/{name}?")
        connection.execute(text(f"DROP DATABASE {name} WITH (FORCE)"))
    engine.dispose()


def execute(url: str, statement: str) -> None:
    engine = create_engine(url)
    with engine.begin() as tx:
        tx.execute(text(statement))
    engine.dispose()


def read(url: str) -> dict[str, tuple[list[str], list[tuple[Any, ...]]]]:
    """Return the columns and rows of all tables."""
    engine = create_engine(url)
    tables = MetaData()
    with engine.connect() as tx:
        tables.reflect(tx)
        contents = {
            table.name: (list(table.columns.keys()), [tuple(row) for row in tx.execute(select(table))])
            for table in tables.sorted_tables
        }
    engine.dispose()
    return contents


def differences(url: str) -> list[Any]:
    """Return the differences between a database and the records."""
    assert all(module.__name__ for module in MODULES)
    engine = create_engine(url)
    with engine.connect() as tx:
        changes = compare_metadata(
            MigrationContext.configure(tx, opts={"compare_type": True, "compare_server_default": True}),
            Record.metadata,
        )
        tables = inspect(tx)
        constraints = {check["name"] for name in Record.metadata.tables for check in tables.get_check_constraints(name)}
    engine.dispose()
    assert constraints == {"authorizations_one_sale", "transfers_one_sale"}  # Alembic compares no checks
    return list(changes)


def test_new_database_has_the_tables_of_the_records(url: str) -> None:
    Database(url).close()
    assert differences(url) == []
    assert find_revision(url) == schema.HEAD


def test_records_and_migrations_agree_on_names_and_head() -> None:
    assert ScriptDirectory(str(Path(schema.__file__).parent / "migrations")).get_heads() == [schema.HEAD]
    mapped = list(Record.registry.mappers)
    assert len(mapped) > 20
    # Rows of a connection have the names of the columns, so attributes must have the same names.
    for mapper in mapped:
        assert [each.key for each in mapper.column_attrs] == [
            column.name for each in mapper.column_attrs for column in each.columns
        ]
        assert all(isinstance(getattr(mapper.class_, each.key), InstrumentedAttribute) for each in mapper.column_attrs)


def test_two_processes_create_the_tables_once(url: str) -> None:
    processes = [subprocess.Popen([sys.executable, "-c", CREATE, url]) for _ in range(2)]
    assert [process.wait() for process in processes] == [0, 0]
    assert differences(url) == []


def test_older_schema_is_upgraded_only_on_request(url: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    Database(url).close()
    execute(url, "INSERT INTO processes (id, seen) VALUES ('shop', 1.5)")
    before = read(url)
    install_next_schema(monkeypatch, tmp_path)
    with pytest.raises(WrongSchema, match=r"schema 1, older than 2 .* `foreseal pay db upgrade pay\.toml`"):
        Database(url)
    assert read(url) == before
    lines: list[str] = []
    Database(url, upgrade=True, report=lines.append).close()
    Database(url, upgrade=True, report=lines.append).close()
    assert lines == ["2: Schema 2: notes of orders."]
    after = read(url)
    assert after.pop("alembic_version") == (["version_num"], [("2",)])
    assert after.pop("orders")[0] == [*before["orders"][0], "note"]
    assert after == {name: table for name, table in before.items() if name not in ("alembic_version", "orders")}


def test_failed_upgrade_changes_nothing(url: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    Database(url).close()
    before = read(url)
    install_next_schema(monkeypatch, tmp_path, then="raise RuntimeError('power failure')")
    with pytest.raises(RuntimeError, match="power failure"):
        Database(url, upgrade=True)
    assert read(url) == before


@pytest.mark.parametrize("url", ["postgresql"], indirect=True)
def test_blocked_upgrade_names_the_transaction_and_gives_up(
    url: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    Database(url).close()
    install_next_schema(monkeypatch, tmp_path)
    monkeypatch.setattr(upgrade_locks, "_ATTEMPTS", 2)
    lines: list[str] = []
    engine = create_engine(url, connect_args={"application_name": "reports"})
    with engine.begin() as other:
        other.execute(text("SELECT count(*) FROM orders"))
        with pytest.raises(UpgradeBlocked, match=r"got no lock within 4 s, and changed nothing; .* \(reports\)"):
            Database(url, upgrade=True, report=lines.append)
        (line,) = [line for line in lines if "waits" in line]
        assert re.fullmatch(
            r"the upgrade waits for a lock; open transactions: process \d+ \(reports\), \d+ s: "
            r"SELECT count\(\*\) FROM orders",
            line,
        )
    engine.dispose()
    assert find_revision(url) == "1"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("UPDATE alembic_version SET version_num = '2'", "schema 2, newer than 1 of this version: install a newer"),
        ("UPDATE alembic_version SET version_num = '0018'", "schema 0018 of an unreleased version .* a new, empty"),
        ("UPDATE alembic_version SET version_num = '0009'", "schema 0009 of an unreleased version .* a new, empty"),
        ("UPDATE alembic_version SET version_num = '0001'", "schema 0001 of an unreleased version .* a new, empty"),
        ("UPDATE alembic_version SET version_num = 'abc'", "schema abc of an unreleased version .* a new, empty"),
        ("DELETE FROM alembic_version", "0 schema revisions"),
        ("DROP TABLE alembic_version", "a table orders, but no schema revision: an unreleased version"),
    ],
)
def test_unknown_schema_is_rejected_without_a_change(url: str, change: str, message: str) -> None:
    Database(url).close()
    execute(url, change)
    before = read(url)
    for upgrade in (False, True):
        with pytest.raises(WrongSchema, match=message):
            Database(url, upgrade=upgrade)
    with pytest.raises(WrongSchema, match=message):
        PaidApi.connect("0x" + "11" * 20, network="eip155:84532", node=NODE, facilitator=NODE, database=url)
    assert read(url) == before
