"""Databases of schema 3, from frozen SQL: filled by column names and types, and read back by column."""

import itertools
import json
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Engine,
    Float,
    Integer,
    LargeBinary,
    MetaData,
    Numeric,
    Table,
    create_engine,
    insert,
    select,
)

from repository import SUPPORT

PAYMENTS = 10_000
"""Number of orders, transfers, transactions and timeline entries by default."""

_FOLDER = SUPPORT / "payments" / "data"
_OTHERS = 500
_LARGE = ("orders", "timeline", "transactions", "transfers", "suspense")

_STEPS = ("idle", "intended", "broadcast", "unknown", "failed", "provisional", "confirmed", "final")
_STATES = {
    "orders": (
        "Drafted",
        "Signed, unused",
        "Stored, unused",
        "Used, captured",
        "Voided offchain",
        "Canceled",
        "Expired",
    ),
    "refunds": ("Reserved", "Broadcast", "Complete", "Blocked"),
    "payouts": ("Reserved", "Broadcast", "Complete", "Blocked"),
    "deliveries": ("waiting", "delivered", "dead"),
    "x402_settlements": ("Submitted", "Settled", "Released"),
    "x402_grants": ("Held", "Answered", "Settled", "Declined", "Released"),
    "purchases": ("Reserved", "Presented", "Spent", "Returned"),
}
_ENTRIES: tuple[tuple[str, str, dict[str, str]], ...] = (
    ("orders", "suspense", {"reason": "under", "transaction": "0x1"}),
    ("orders", "suspense", {"reason": "late"}),
    ("orders", "merchant marks the order void", {"reason": "out of stock"}),
    ("orders", "merchant marks the order void", {"reason": "the payer canceled", "block": "0x2"}),
    ("refunds", "recipient is forbidden", {"reason": "0xab is forbidden"}),
    ("orders", "transaction can no longer have an effect", {"reason": "it was reverted"}),
    ("orders", "node took the transaction", {}),
)
_CHOICES = {
    ("transactions", "ending"): ("final", "displaced", None),
    ("transactions", "purpose"): ("capture", "cancel", "refund", "payout", "settle"),
    ("suspense", "reason"): ("under", "over", "late", "double", "direct", "unmatched"),
    ("hooks", "origin"): ("configured", "registered"),
    ("api_keys", "role"): ("reader", "cashier", "refunder", "admin"),
    ("transfers", "step"): ("provisional", "confirmed", "final"),
}


def entry(number: int) -> tuple[str, str, str, str | None, dict[str, str]]:
    """Return subject, its id, trigger, state before, and details of a timeline entry.

    Two of three belong to an order: its first entry, and a later one.
    """
    order = f"o{number // 3}"
    if number % 3 == 0:  # a refund with the order's id, before the order's first entry
        return "refunds", order, "amount reserved", None, {}
    if number % 3 == 1:
        return "orders", order, "set terms", None, {}
    subject, trigger, details = _ENTRIES[number // 3 % len(_ENTRIES)]
    return subject, order, trigger, "Drafted", details


def create(url: str, count: int = PAYMENTS, tables: Callable[[str], bool] = lambda name: True) -> None:
    """Create a database of schema 3 with the tables that `tables` accepts, and fill it."""
    engine = create_engine(url)
    script = (_FOLDER / f"schema_3.{engine.dialect.name}.sql").read_text()
    if engine.dialect.name == "sqlite":  # as every version has opened it
        with engine.connect() as connection:
            connection.exec_driver_sql("PRAGMA journal_mode=WAL")
    with engine.begin() as tx:
        for statement in script.split(";"):
            words = statement.split()
            name = words[words.index("ON") + 1] if words[1:2] == ["INDEX"] else words[2] if words else ""
            if words and (name in ("schema", "timeline", "orders") or tables(name)):
                tx.exec_driver_sql(statement)
        found = MetaData()
        found.reflect(tx)
        for table in found.sorted_tables:
            if table.name == "schema":
                tx.execute(insert(table).values(version=3))
            else:
                total = count if table.name in _LARGE else min(count, _OTHERS)
                total *= 3 if table.name == "timeline" else 1
                if total:
                    tx.execute(insert(table), [_row(table, number) for number in range(total)])
    engine.dispose()


def snapshot(engine: Engine) -> dict[str, dict[str, list[Any]]]:
    """Return all values by table and column, each in the order of the table's key."""
    tables = MetaData()
    with engine.connect() as tx:
        tables.reflect(tx)
        found = {}
        for table in tables.sorted_tables:
            rows = tx.execute(select(table).order_by(*table.primary_key.columns)).all()
            columns = zip(*rows, strict=True) if rows else itertools.repeat(())
            found[table.name] = {
                column.name: list(values) for column, values in zip(table.columns, columns, strict=False)
            }
    return found


def _row(table: Table, number: int) -> dict[str, Any]:
    row = {column.name: _value(table.name, column, number) for column in table.columns}
    if table.name == "timeline":
        subject, id, trigger, before, details = entry(number)
        row |= {"subject": subject, "subject_id": id, "trigger": trigger, "before": before}
        row |= {"details": json.dumps(details, sort_keys=True), "time": 1_700_000_000 + number}
    return row


def _value(table: str, column: Column[Any], number: int) -> Any:
    name = column.name
    choices = _CHOICES.get((table, name)) or (_STATES.get(table) if name == "state" else None)
    if name == "step" and choices is None:
        choices = _STEPS
    if choices is not None:
        # Every state meets every step.
        return choices[number // len(_STEPS) % len(choices)] if name == "state" else choices[number % len(choices)]
    if column.nullable and number % 3 == 0:
        return None
    # The same name has the same value in every table, so foreign keys refer to rows that exist.
    match column.type:
        case Boolean():
            return number % 2 == 0
        case Float():
            return number + 0.5
        case Integer() | BigInteger():
            return number + 1 if name == "id" or name.endswith("_id") else number
        case Numeric():
            return Decimal(10**30 + number)
        case LargeBinary():
            return number.to_bytes(32, "big")
    if getattr(column.type, "length", None) == 78:
        return f"{10**30 + number:078}"
    return f"o{number}" if name == "id" or name.endswith("_id") else f"{name} {number}"
