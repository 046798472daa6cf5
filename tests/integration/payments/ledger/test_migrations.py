"""Upgrades of a database: nothing is lost, a crash changes nothing, and only one process does it."""

import base64
import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from eth_utils.address import to_checksum_address
from sqlalchemy import Engine, LargeBinary, MetaData, String, create_engine, insert, inspect, select, text
from sqlalchemy.exc import OperationalError, ProgrammingError
from sqlalchemy.orm import InstrumentedAttribute

import foreseal.payments.api.models
import foreseal.payments.x402.buyer.models
import foreseal.payments.x402.models
from foreseal.payments.crash_points import MigrationPoint
from foreseal.payments.ledger import Database, WrongSchema, schema, upgrade_locks
from foreseal.payments.ledger.database import find_revision
from foreseal.payments.ledger.errors import UpgradeBlocked
from foreseal.payments.ledger.migrations.events import MigrationEvents
from foreseal.payments.ledger.models import OrderRecord
from foreseal.payments.ledger.record import Record
from payments.old_schema import PAYMENTS, create, entry, snapshot

MODULES = (foreseal.payments.api.models, foreseal.payments.x402.models, foreseal.payments.x402.buyer.models)
SMALL = 60

RENAMED_TABLES = {"suspense": "unmatched_transfers", "hooks": "webhooks", "x402_turns": "x402_payer_locks"}
RENAMED_COLUMNS = {
    ("timeline", "told"): "fanned_out",
    ("deliveries", "hook_id"): "webhook_id",
    ("deliveries", "entry_id"): "event_id",
    ("deliveries", "due"): "next_attempt",
}
REWRITTEN: dict[tuple[str, str], dict[Any, Any]] = {
    ("transactions", "ending"): {"final": "included", "displaced": "replaced"},
    ("suspense", "reason"): {"under": "underpaid", "over": "overpaid", "double": "duplicate"},
    ("deliveries", "state"): {"waiting": "pending"},
    ("timeline", "trigger"): {"suspense": "transfer unmatched"},
    ("timeline", "details"): {
        json.dumps(old, sort_keys=True): json.dumps(new, sort_keys=True)
        for old, new in (
            ({"reason": "under", "transaction": "0x1"}, {"reason": "underpaid", "transaction": "0x1"}),
            ({"reason": "out of stock"}, {"reason": "merchant_voided", "message": "out of stock"}),
            ({"reason": "the payer canceled", "block": "0x2"}, {"reason": "payer_canceled", "block": "0x2"}),
            ({"reason": "0xab is forbidden"}, {"reason": "recipient_forbidden", "message": "0xab is forbidden"}),
            ({"reason": "it was reverted"}, {"reason": "reverted"}),
        )
    },
}
ADDED = {
    "orders": {
        "success_url",
        "cancel_url",
        "created",
        "reference",
        "metadata_json",
        "auto_capture",
        "last_error",
        "capture_batch",
    },
    "webhooks": {"events", "previous_secret", "previous_secret_expires"},
    "deliveries": {"leased_by"},
    "refunds": {"transfer_hash", "transfer_position"},
    "transactions": {"rejection", "rejected_since", "code_gas"},
    "x402_grants": {"fence"},
    "purchases": {"report_source"},
    "authorizations": {"grant_id", "payee", "amount", "transaction_hash"},
    "transfers": {"grant_id"},
    "attempts": {"is_empty"},
}
NEW_TABLES: dict[str, dict[str, list[Any]]] = {
    "service_keys": {"purpose": [], "key": []},
    "sessions": {"hash": [], "key_id": [], "created": [], "used": []},
    "lost_gas": {name: [] for name in ("chain_id", "transaction_hash", "payer", "gas", "has_code", "time")},
    "set_aside": {
        "chain_id": [],
        "token": [],
        "recipient": [],
        "block_number": [],
        "transaction_hash": [],
        "reason": [],
        "since": [],
        "due": [],
        "attempts": [],
    },
}

UPGRADE = """
import os, sys
from foreseal.payments.ledger import Database
from foreseal.payments.ledger.migrations.events import MigrationEvents

def passed(point):
    if point.name == sys.argv[2]:
        os._exit(9)

Database(sys.argv[1], upgrade=True, events=MigrationEvents(passed=passed)).close()
"""


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


def read(url: str) -> dict[str, dict[str, list[Any]]]:
    engine = create_engine(url)
    try:
        return snapshot(engine)
    finally:
        engine.dispose()


def differences(url: str) -> list[Any]:
    """Return the differences between a database and the records."""
    assert all(module.__name__ for module in MODULES)
    engine = create_engine(url)
    with engine.connect() as tx:
        found = compare_metadata(
            MigrationContext.configure(tx, opts={"compare_type": True, "compare_server_default": True}),
            Record.metadata,
        )
    engine.dispose()
    return list(found)


def upgrading(url: str, crash: str = "") -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", UPGRADE, url, crash])


def test_upgrade_preserves_every_value(url: str) -> None:
    create(url)
    before = read(url)
    Database(url, upgrade=True).close()
    after = read(url)
    assert after.pop("alembic_version") == {"version_num": [schema.HEAD]}
    # Releases without migrations refuse another version than 3.
    assert (before.pop("schema"), after.pop("schema")) == ({"version": [3]}, {"version": [4]})
    assert {name: after.pop(name) for name in NEW_TABLES} == NEW_TABLES
    ends = after.pop("transfer_ends")
    paid = [order is not None for order in before["transfers"]["order_id"]]
    resolved = [not each for each in paid[: len(before["resolutions"]["note"])]]
    assert ends["kind"].count("captured") == sum(paid)
    assert ends["kind"].count("resolved") == sum(resolved) == len(ends["kind"]) - sum(paid)
    assert {RENAMED_TABLES.get(table, table) for table in before} == set(after)
    assert len(before["orders"]["id"]) == PAYMENTS
    assert len(set(zip(before["orders"]["state"], before["orders"]["step"], strict=True))) == 7 * 8
    for table, columns in before.items():
        new_table = RENAMED_TABLES.get(table, table)
        expected = {}
        for name, values in columns.items():
            texts = REWRITTEN.get((table, name), {})
            if (table, name) == ("hooks", "secret"):
                texts = {text: "whsec_" + base64.b64encode(text.encode()).decode() for text in values if text}
            expected[RENAMED_COLUMNS.get((table, name), name)] = [texts.get(value, value) for value in values]
        if table == "suspense":  # its rows are those of the transfers with the same key
            authorized = [nonce is not None for nonce in before["transfers"]["nonce"]]
            expected["reason"] = [
                "shared_payee" if reason == "unmatched" and used else reason
                for reason, used in zip(expected["reason"], authorized, strict=True)
            ]
            assert "shared_payee" in expected["reason"]
        found = {name: all_ for name, all_ in after[new_table].items() if name not in ADDED.get(new_table, set())}
        assert found == expected, table
    rewritten = {(table, name) for (table, name), texts in REWRITTEN.items() if set(texts) <= set(before[table][name])}
    assert rewritten == set(REWRITTEN)
    created = dict(zip(after["orders"]["id"], after["orders"]["created"], strict=True))
    first = {entry(number)[1]: 1_700_000_000 + number for number in range(1, 3 * PAYMENTS, 3)}
    assert created == first
    for table, names in ADDED.items():
        for name in names - {"created"}:
            assert not any(after[table][name]), (table, name)


@pytest.mark.parametrize("old", [False, True], ids=["new", "upgraded"])
def test_migrated_schema_equals_the_records(url: str, old: bool) -> None:
    if old:
        create(url, SMALL)
    Database(url, upgrade=old).close()
    assert differences(url) == []


def test_database_of_the_buyer_alone_is_upgraded(url: str) -> None:
    buyer = ("purchases", "budgets", "buyer_channels")
    create(url, SMALL, lambda name: name in buyer)
    before = read(url)
    Database(url, upgrade=True).close()
    assert differences(url) == []
    after = read(url)
    assert after["purchases"].pop("report_source") == [None] * len(before["purchases"]["id"])
    assert {table: after[table] for table in buyer} == {table: before[table] for table in buyer}


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


def test_older_schema_is_opened_only_for_an_upgrade(url: str) -> None:
    create(url, SMALL)
    before = read(url)
    with pytest.raises(WrongSchema, match=r"schema 0003, older than 0018 .* `foreseal pay db upgrade pay\.toml`"):
        Database(url)
    assert read(url) == before
    lines: list[str] = []
    Database(url, upgrade=True, events=MigrationEvents(report=lines.append)).close()
    revisions = [line.partition(":")[0] for line in lines]
    single = ("0008", "0009", "0010", "0011", "0012", "0013", "0014", "0015", "0016", "0017", "0018")
    assert revisions == ["0003", *["0004"] * 3, "0005", "0006", *["0007"] * 2, *single]
    Database(url, upgrade=True, events=MigrationEvents(report=lines.append)).close()
    assert len(lines) == 19
    assert find_revision(url) == schema.HEAD


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("UPDATE alembic_version SET version_num = '0099'", "schema 0099, newer than 0018 of this version: install"),
        ("UPDATE alembic_version SET version_num = 'abc'", "schema abc, newer than 0018 of this version: install"),
        ("DELETE FROM alembic_version", "0 schema revisions"),
        ("DROP TABLE alembic_version", "a table orders, but no schema revision"),
    ],
)
def test_unknown_schema_is_rejected_with_and_without_upgrade(url: str, change: str, message: str) -> None:
    Database(url).close()
    engine = create_engine(url)
    with engine.begin() as tx:
        tx.execute(text(change))
    engine.dispose()
    before = read(url)
    for upgrade in (False, True):
        with pytest.raises(WrongSchema, match=message):
            Database(url, upgrade=upgrade)
    assert read(url) == before


@pytest.mark.parametrize(("version", "message"), [(2, "0002, older than 0003"), (19, "0019, newer than 0018")])
def test_other_versions_before_migrations_are_rejected(url: str, version: int, message: str) -> None:
    create(url, SMALL)
    engine = create_engine(url)
    with engine.begin() as tx:
        tx.execute(text(f"UPDATE schema SET version = {version}"))
    engine.dispose()
    for upgrade in (False, True):
        with pytest.raises(WrongSchema, match=message):
            Database(url, upgrade=upgrade)


@pytest.mark.parametrize("point", list(MigrationPoint), ids=lambda point: point.name)
def test_crash_during_an_upgrade_leaves_the_old_schema(url: str, point: MigrationPoint) -> None:
    create(url, SMALL)
    before = read(url)
    assert upgrading(url, point.name).wait() == 9
    assert read(url) == before
    assert find_revision(url) == "0003"
    Database(url, upgrade=True).close()
    assert differences(url) == []


def test_two_processes_upgrade_once(url: str) -> None:
    create(url, SMALL)
    processes = [upgrading(url) for _ in range(2)]
    assert [process.wait() for process in processes] == [0, 0]
    assert differences(url) == []
    assert len(read(url)["orders"]["id"]) == SMALL


def test_upgrade_waits_for_an_old_writer_which_is_then_rejected(url: str) -> None:
    create(url, SMALL)
    engine = create_engine(url)
    write = text(
        'INSERT INTO timeline (id, subject, subject_id, time, "trigger", before, after, details, told) '
        "VALUES (:id, 'orders', 'late', 1, 'set terms', NULL, 'Drafted', '{}', false)"
    )
    upgrade = threading.Thread(target=lambda: Database(url, upgrade=True).close())
    with engine.begin() as old:
        old.execute(write, {"id": 100_000})
        upgrade.start()
        # The upgrade cannot commit before this transaction: it needs the lock that the insertion holds.
    upgrade.join()
    assert find_revision(url) == schema.HEAD
    assert 100_000 in read(url)["timeline"]["id"]
    with pytest.raises((OperationalError, ProgrammingError), match="told"), engine.begin() as old:
        old.execute(write, {"id": 100_001})
    engine.dispose()


@pytest.mark.parametrize("url", ["postgresql"], indirect=True)
def test_blocked_upgrade_names_the_transaction_and_gives_up(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    create(url, SMALL)
    monkeypatch.setattr(upgrade_locks, "_ATTEMPTS", 2)
    lines: list[str] = []
    engine = create_engine(url, connect_args={"application_name": "reports"})
    with engine.begin() as other:
        other.execute(text("SELECT count(*) FROM timeline"))
        with pytest.raises(UpgradeBlocked, match=r"got no lock within 4 s, and changed nothing; .* \(reports\)"):
            Database(url, upgrade=True, events=MigrationEvents(report=lines.append))
        (line,) = [line for line in lines if "waits" in line]
        assert re.fullmatch(
            r"the upgrade waits for a lock; open transactions: process \d+ \(reports\), \d+ s: "
            r"SELECT count\(\*\) FROM timeline",
            line,
        )
    assert find_revision(url) == "0003"
    Database(url, upgrade=True).close()
    assert differences(url) == []
    engine.dispose()


def test_upgraded_order_may_lack_a_payer(url: str) -> None:
    create(url, SMALL)
    Database(url, upgrade=True).close()
    before = read(url)
    assert all(before["orders"]["payer"])
    engine = create_engine(url)
    with engine.begin() as tx:
        indexes = {index["name"]: index for index in inspect(tx).get_indexes("orders")}
        assert indexes["orders_nonce"]["column_names"] == ["chain_id", "token", "payer", "nonce"]
        assert indexes["orders_unassigned"]["column_names"] == ["chain_id", "token", "nonce"]
        condition = str(indexes["orders_unassigned"]["dialect_options"][f"{engine.dialect.name}_where"])
        assert condition.strip("()").lower() == "payer is null"
        if engine.dialect.name == "sqlite":
            assert tx.exec_driver_sql("PRAGMA foreign_key_check").all() == []
        change = text("UPDATE orders SET payer = NULL, nonce = :nonce WHERE id = :id")
        for id in before["orders"]["id"][:2]:  # two of them may even have one nonce
            assert tx.execute(change, {"nonce": bytes(32), "id": id}).rowcount == 1
    engine.dispose()
    assert read(url)["orders"]["payer"].count(None) == 2


def test_new_columns_have_the_documented_defaults(url: str) -> None:
    database = Database(url)
    with database.reading() as tx:
        columns = {column["name"]: column for column in inspect(tx).get_columns(OrderRecord.__tablename__)}
        assert tx.execute(select(OrderRecord.id)).all() == []
    database.close()
    assert not columns["created"]["nullable"]
    assert not columns["auto_capture"]["nullable"]
    assert columns["payer"]["nullable"]
    optional = ("reference", "metadata_json", "last_error", "capture_batch", "success_url", "cancel_url")
    assert all(columns[name]["nullable"] for name in optional)


TOKEN, PAYEE, PAYER, PERMIT2 = (to_checksum_address("0x" + digit * 40) for digit in "abcd")
REQUIRED = {"scheme": "exact", "network": "eip155:1", "asset": TOKEN, "amount": "70", "payTo": PAYEE.lower()}


def grant_id(contract: str, nonce: int) -> str:
    return f"1-{contract.lower()}-{PAYER.lower()}-0x{nonce:064x}"


# Id, requirements, state, charge and transaction of each grant; the digits of the hash are the nonce.
GRANTS: list[tuple[str, dict[str, str], str, int | None, str | None]] = [
    (grant_id(TOKEN, 1), REQUIRED, "Settled", 70, "0x01"),
    (grant_id(TOKEN, 2), REQUIRED, "Held", None, None),
    (grant_id(PERMIT2, 3), REQUIRED | {"scheme": "upto", "amount": "90"}, "Settled", 80, "0x03"),
    (grant_id(TOKEN, 4), REQUIRED, "Released", None, None),
    (grant_id(PERMIT2, 5), REQUIRED | {"scheme": "batch-settlement"}, "Settled", 5, None),
    (grant_id(TOKEN, 6), REQUIRED, "Settled", 70, "0x06"),
    (grant_id(TOKEN, 7), REQUIRED, "Settled", 70, "0x07"),
]
# Nonce, amount, order and reason of each transfer.
TRANSFERS: list[tuple[int | None, int, str | None, str | None]] = [
    (1, 70, None, "unmatched"),
    (None, 80, None, "unmatched"),
    (6, 70, "captured", None),
    (7, 70, None, "late"),
    (8, 70, None, "unmatched"),
    (2, 69, None, "unmatched"),
    (None, 70, None, "unmatched"),
]


def fill_sales(engine: Engine) -> None:
    """Fill a database of schema 3 with grants, orders and transfers that share authorizations."""
    tables = MetaData()
    tables.reflect(engine)

    def units(amount: int | None) -> Any:
        if amount is None:
            return None
        return Decimal(amount) if engine.dialect.name == "postgresql" else f"{amount:078}"

    with engine.begin() as tx:

        def add(table: str, **values: Any) -> None:
            """Insert a row; other columns that are not nullable get any value."""
            columns = [each for each in tables.tables[table].columns if not each.nullable and each.name not in values]
            rest = {
                each.name: b"" if isinstance(each.type, LargeBinary) else "0" if isinstance(each.type, String) else 0
                for each in columns
            }
            tx.execute(insert(tables.tables[table]).values(rest | values))

        for name, terms, state, charged, hash in GRANTS:
            found = {"requirements": json.dumps(terms), "charged": units(charged), "transaction_hash": hash}
            add("x402_grants", id=name, state=state, **found)
        for order, state, nonce in (("captured", "Used, captured", 6), ("voided", "Voided offchain", 7)):
            add("orders", id=order, memo=order.encode(), state=state, amount=units(70))
            key = {"chain_id": 1, "contract": TOKEN, "payer": PAYER, "nonce": nonce.to_bytes(32, "big")}
            add("authorizations", order_id=order, **key)
        for number, amount, paid, reason in TRANSFERS:
            hash = "0x03" if amount == 80 else f"0x0{number or 9}"
            used = None if number is None else number.to_bytes(32, "big")
            moved = {"token": TOKEN, "sender": PAYER, "recipient": PAYEE, "amount": units(amount), "nonce": used}
            place = {"chain_id": 1, "transaction_hash": hash, "position": 0}
            add("transfers", block_hash=hash, order_id=paid, step="final", **place, **moved)
            if number in (6, 8):  # an earlier version could capture a transfer that was resolved
                add("resolutions", note="paid", **place)
            if reason is not None:
                add("suspense", reason=reason, order_id="voided" if reason == "late" else None, **place)


def test_grants_of_earlier_versions_get_their_authorizations_and_transfers(url: str) -> None:
    create(url, 0)
    engine = create_engine(url)
    fill_sales(engine)
    engine.dispose()
    Database(url, upgrade=True).close()
    after = read(url)
    entered = after["authorizations"]
    names = [name for name, *_ in GRANTS]
    rows = zip(entered["grant_id"], entered["order_id"], entered["amount"], entered["payee"], strict=True)
    assert {(grant, order, None if amount is None else int(amount), to) for grant, order, amount, to in rows} == {
        (names[0], None, 70, PAYEE),
        (names[1], None, 70, PAYEE),
        (names[2], None, 80, PAYEE),
        (names[4], None, None, None),
        (None, "captured", None, None),
        (names[6], None, 70, PAYEE),
    }
    transfers = dict(zip(after["transfers"]["transaction_hash"], after["transfers"]["grant_id"], strict=True))
    granted = {"0x01": names[0], "0x03": names[2], "0x07": names[6]}
    assert {hash: name for hash, name in transfers.items() if name} == granted
    ends = after["transfer_ends"]
    assert dict(zip(ends["transaction_hash"], ends["kind"], strict=True)) == {
        "0x06": "captured",
        "0x08": "resolved",
        **dict.fromkeys(granted, "granted"),
    }
    listed = after["unmatched_transfers"]
    assert dict(zip(listed["transaction_hash"], listed["reason"], strict=True)) == {
        "0x02": "shared_payee",
        "0x08": "shared_payee",
        "0x09": "unmatched",
    }
