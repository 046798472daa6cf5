"""Tables, exact amounts, and transactions, on both databases."""

import sqlite3
import threading

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import Column, Integer, MetaData, Table, insert, select, update
from sqlalchemy.exc import StatementError

from foreseal.payments.amounts import MAX_AMOUNT
from foreseal.payments.crash_points import CrashPoint
from foreseal.payments.ledger import (
    ConcurrentUpdate,
    Database,
    DuplicateRecord,
    Finality,
    OrderState,
    Trigger,
    TxStatus,
    UnknownRecord,
    locked,
)
from foreseal.payments.ledger.columns import EnumText, Units
from foreseal.payments.ledger.models import AuthorizationRecord, OrderRecord, TimelineRecord
from payments.shop import ADDRESS, BUYER, Killed, Shop

_amounts = Table("amounts_of_a_test", MetaData(), Column("id", Integer, primary_key=True), Column("amount", Units))


@settings(max_examples=5, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(amounts=st.lists(st.integers(0, MAX_AMOUNT), min_size=1, max_size=20))
def test_amounts_are_exact_and_sort_as_numbers(url: str, amounts: list[int]) -> None:
    given = [0, 1, 2**63, 10**30, MAX_AMOUNT - 1, MAX_AMOUNT, *amounts]
    database = Database(url)
    with database.engine.begin() as tx:
        _amounts.create(tx)
        tx.execute(insert(_amounts), [{"amount": amount} for amount in [*given, None]])
        stored_amounts = list(tx.execute(select(_amounts.c.amount).order_by(_amounts.c.id)).scalars())
        ordered = select(_amounts.c.amount).where(_amounts.c.amount.is_not(None)).order_by(_amounts.c.amount)
        assert list(tx.execute(ordered).scalars()) == sorted(given)
        _amounts.drop(tx)
    database.close()
    assert stored_amounts == [*given, None]
    assert all(type(each) is int for each in stored_amounts[:-1])


def test_connection_in_use_during_the_close_is_closed_when_it_is_returned(url: str) -> None:
    database = Database(url)
    with database.reading() as tx:
        in_use = tx.connection.driver_connection
        assert in_use is not None
        database.close()
        assert tx.execute(select(1)).scalar_one() == 1
    with pytest.raises((sqlite3.ProgrammingError, psycopg.OperationalError), match="closed"):
        in_use.execute("SELECT 1")


@pytest.mark.parametrize("amount", [1.0, -1, MAX_AMOUNT + 1, "1", True])
def test_invalid_amount_reaches_no_table(shop: Shop, amount: object) -> None:
    with pytest.raises((TypeError, ValueError, StatementError), match="amount"), shop.database.transaction() as tx:
        tx.execute(update(OrderRecord).values(amount=amount))


def test_value_outside_its_enumeration_is_rejected(shop: Shop) -> None:
    with (
        pytest.raises((ValueError, StatementError), match="is not a TxStatus or Finality"),
        shop.database.transaction() as tx,
    ):
        tx.execute(update(OrderRecord).values(step=OrderState.DRAFTED))
    column = EnumText(TxStatus, Finality)
    assert column.process_bind_param(None, shop.database.engine.dialect) is None
    assert column.process_result_value(None, shop.database.engine.dialect) is None
    with pytest.raises(ValueError, match="Drafted"):
        column.process_result_value("Drafted", shop.database.engine.dialect)


def test_a_transition_made_by_another_process_is_a_conflict(shop: Shop) -> None:
    shop.stored("a")
    with shop.database.reading() as tx:
        stale = shop.orders.get("a")
    shop.orders.void("a")
    with pytest.raises(ConcurrentUpdate, match="a is no longer Stored, unused"), shop.database.transaction() as tx:
        shop.ledger.move(tx, OrderRecord, stale, Trigger.VOID)
    assert len(shop.orders.timeline("a")) == 4


def test_transition_and_its_entry_are_atomic(shop: Shop) -> None:
    shop.stored("a")
    shop.crashes.arm(CrashPoint.VOID_DECIDED)
    with pytest.raises(Killed):
        shop.orders.void("a")
    assert shop.status("a") == "Stored, unused / idle"
    assert len(shop.orders.timeline("a")) == 3


def test_duplicate_ids_and_authorizations_are_rejected(shop: Shop) -> None:
    terms = shop.terms()
    first = shop.orders.draft("a", terms)
    with pytest.raises(DuplicateRecord, match="a or another of its keys"):
        shop.orders.draft("a", shop.terms())
    second = shop.orders.draft("b", terms)
    assert first == second
    for id in ("a", "b"):
        shop.orders.sign(id, shop.signed(first))
    shop.orders.store("a")
    with pytest.raises(DuplicateRecord, match="authorization of b belongs to another order"):
        shop.orders.store("b")
    assert shop.status("b") == "Signed, unused / idle"
    with shop.database.reading() as tx:
        stored = tx.execute(select(AuthorizationRecord)).one()
        told = tx.execute(select(TimelineRecord.id).where(TimelineRecord.subject_id == "b")).all()
    assert (stored.contract, stored.payer, stored.nonce, stored.order_id) == (ADDRESS, BUYER.address, terms.nonce, "a")
    assert len(told) == 2


def test_missing_record_is_named(shop: Shop) -> None:
    with pytest.raises(UnknownRecord, match="orders: no row has the id x"):
        shop.orders.get("x")
    with pytest.raises(UnknownRecord, match="refunds: no row has the id x"):
        shop.refunds.get("x")
    assert shop.in_state(*OrderState) == []


def test_reader_sees_one_snapshot_and_blocks_no_writer(shop: Shop) -> None:
    shop.stored("a")
    with shop.database.reading() as tx:
        before = tx.execute(select(OrderRecord.state)).scalars().all()
        shop.orders.void("a")
        shop.stored("b")
        after = tx.execute(select(OrderRecord.state)).scalars().all()
    assert before == after == [OrderState.STORED]
    assert shop.in_state(OrderState.VOIDED) == ["a"]


def test_only_durable_transactions_are_synced(shop: Shop) -> None:
    sqlite = shop.database.engine.dialect.name == "sqlite"
    question = "PRAGMA synchronous" if sqlite else "SHOW synchronous_commit"
    levels = []
    for durable in (True, False, True):
        with shop.database.transaction(durable=durable) as tx:
            levels.append(str(tx.exec_driver_sql(question).scalar_one()))
    assert levels == (["2", "1", "2"] if sqlite else ["on", "off", "on"])


def test_one_of_two_deadlocked_transactions_fails(shop: Shop) -> None:
    for id in ("a", "b"):
        shop.stored(id)
    met = threading.Barrier(2)
    answers: list[object] = []

    def work(first: str, second: str) -> None:
        try:
            with shop.database.transaction() as tx:
                locked(tx, OrderRecord, first)
                if shop.database.engine.dialect.name == "postgresql":  # SQLite admits one at a time
                    met.wait(30)
                locked(tx, OrderRecord, second)
            answers.append("done")
        except ConcurrentUpdate:
            answers.append("overtaken")

    threads = [threading.Thread(target=work, args=pair) for pair in (("a", "b"), ("b", "a"))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    expected = ["done", "overtaken"] if shop.database.engine.dialect.name == "postgresql" else ["done", "done"]
    assert sorted(map(str, answers)) == expected
