"""The gas of payers with code counts as lost until the receipt: many of them at once cannot exceed their budget."""

import threading
from collections.abc import Sequence
from dataclasses import replace

import pytest
from eth_account.signers.local import LocalAccount
from sqlalchemy import event, text

from foreseal.payments.crash_points import CrashPoint
from foreseal.payments.group_operation import run_deferred
from foreseal.payments.ledger import Database, Ledger
from foreseal.payments.ledger.models import Purpose, TxResult
from foreseal.payments.orders.acceptances import PayerSignature
from foreseal.payments.orders.auto_captures import AcceptedOrder, AutoCaptures
from foreseal.payments.orders.capture_batches import BatchedCapture, capture_alone
from foreseal.payments.orders.new_orders import StoredOrder
from foreseal.payments.orders.payments import NewPayment
from foreseal.payments.transactions import (
    GWEI,
    FeeQuote,
    FeeSettings,
    GasBudgetInUse,
    GasBudgetSpent,
    SendingError,
    TransactionCall,
    TransactionSender,
    close_included,
    close_intent,
    read_lost_gas,
)
from foreseal.payments.transactions.code_gas import find_included, read_code_gas, release_code_gas
from payments.batching import fund, transactions
from payments.people import BATCH_CAPTURE
from payments.shop import ADDRESS, FUNDS, Killed, Make, Shop, account

CALL = TransactionCall(ADDRESS, b"", 100_000, FeeQuote(3 * GWEI, GWEI), 0, 1, runs_code=True)


@pytest.fixture(params=[None, BATCH_CAPTURE], ids=["alone", "batch"])
def selling(make: Make, request: pytest.FixtureRequest) -> Shop:
    """Return a merchant that captures each order alone, or through the batch capture contract."""
    return make(batch_capture=request.param, finality=10)


def wallets(shop: Shop, count: int) -> list[LocalAccount]:
    """Return payers with code and money."""
    accounts = [account(3_001 + number) for number in range(count)]
    for each in accounts:
        shop.chain.wallets[each.address.lower()] = each.address.lower()
        fund(shop, each, FUNDS)
    return accounts


def limit(shop: Shop, wallet: LocalAccount, count: int) -> int:
    """Set the budget of payers with code to the gas of this many captures. Return it."""
    shop.sender.fees = FeeSettings(payer_lost_gas=10**9, payer_code_gas=100_000)
    payment = shop.payment("measured", 500, wallet)
    call = shop.check([payment])[0].call
    gas = call.gas if shop.merchant.batch_capture is None else capture_alone(BatchedCapture(payment, call)).gas
    shop.sender.fees = replace(shop.sender.fees, code_lost_gas=count * gas)
    return int(count * gas)


def store(shop: Shop, payments: list[NewPayment]) -> list[StoredOrder | SendingError]:
    """Check and store payments in one group. Return the order of each, or the reason against it."""
    stored: list[StoredOrder | SendingError] = []
    checked = shop.check(payments)
    with shop.database.transaction() as tx:
        outcomes = iter(shop.groups.store(tx, [each for each in checked if not isinstance(each, Exception)]))
        for each in checked:
            result = each if isinstance(each, Exception) else next(outcomes)
            assert isinstance(result, StoredOrder | SendingError)
            stored.append(result)
    return stored


def send(shop: Shop, stored: Sequence[StoredOrder | SendingError]) -> None:
    shop.groups.send([each for each in stored if isinstance(each, StoredOrder)])


def in_flight(shop: Shop) -> int:
    with shop.database.reading() as tx:
        return read_code_gas(tx, shop.chain.chain_id)


def lost(shop: Shop) -> int:
    with shop.database.reading() as tx:
        return read_lost_gas(tx, shop.chain.chain_id, shop.chain.time).by_code


def refused(results: Sequence[object]) -> list[type[object] | None]:
    """Return the type of the error of each result."""
    return [type(each) if isinstance(each, Exception) else None for each in results]


def test_wallets_at_once_lose_at_most_the_budget(selling: Shop) -> None:
    shop, buyers = selling, wallets(selling, 6)
    budget = limit(shop, buyers[0], 3)
    rounds: list[list[type[object] | None]] = []
    for number in range(8):
        payments = [shop.payment(f"{number} {at}", 500, buyer) for at, buyer in enumerate(buyers)]
        stored = store(shop, [*payments, shop.payment(f"{number} ordinary", 500)])
        rounds.append(refused(stored))
        assert in_flight(shop) + lost(shop) <= budget
        for buyer in buyers:
            fund(shop, buyer, 0)
        send(shop, stored)
        shop.chain.mine()
        shop.go_on()
        assert shop.status(f"{number} ordinary").startswith("Used, captured")
        assert lost(shop) <= budget
        assert in_flight(shop) == 0
        for buyer in buyers:
            fund(shop, buyer, FUNDS)
        if set(rounds[-1][:-1]) == {GasBudgetSpent}:
            break
    assert rounds[0] == [None] * 3 + [GasBudgetInUse] * 3 + [None]
    assert rounds[-1] == [GasBudgetSpent] * 6 + [None]
    assert lost(shop) > 0
    assert all(set(errors[:-1]) <= {None, GasBudgetInUse, GasBudgetSpent} for errors in rounds)


@pytest.mark.parametrize("reader", ["watcher", "reconciler"])
def test_receipts_make_room_for_honest_wallets(selling: Shop, reader: str) -> None:
    shop, buyers = selling, wallets(selling, 4)
    limit(shop, buyers[0], 2)
    first = store(shop, [shop.payment(f"a{at}", 500, buyer) for at, buyer in enumerate(buyers)])
    assert refused(first) == [None, None, GasBudgetInUse, GasBudgetInUse]
    assert "code_lost_gas" in str(first[2])
    assert "in flight" in str(first[2])
    send(shop, first)
    assert refused(store(shop, [shop.payment("b", 500, buyers[3])])) == [GasBudgetInUse]
    shop.chain.mine()
    assert in_flight(shop) > 0
    if reader == "watcher":
        shop.watcher.poll()
    else:
        shop.progress.resume()
    assert (in_flight(shop), lost(shop)) == (0, 0)
    again = store(shop, [shop.payment(f"c{at}", 500, buyer) for at, buyer in enumerate(buyers[2:])])
    assert refused(again) == [None, None]
    send(shop, again)
    shop.settle()
    assert {shop.status(id) for id in ("a0", "a1", "c0", "c1")} == {"Used, captured / final"}
    assert in_flight(shop) == 0


def test_single_wallet_pays_above_a_small_budget(selling: Shop) -> None:
    shop, buyers = selling, wallets(selling, 2)
    limit(shop, buyers[0], 2)
    shop.sender.fees = replace(shop.sender.fees, code_lost_gas=1)
    results = store(shop, [shop.payment(f"a{at}", 500, buyer) for at, buyer in enumerate(buyers)])
    assert refused(results) == [None, GasBudgetInUse]


def test_payers_with_code_share_no_transaction_with_others(make: Make) -> None:
    """The gas of a batch counts as a whole, so one wallet must not make that of the others count."""
    shop = make(batch_capture=BATCH_CAPTURE, finality=10)
    buyers = wallets(shop, 2)
    limit(shop, buyers[0], 2)
    payments = [shop.payment(f"w{at}", 500, buyer) for at, buyer in enumerate(buyers)]
    stored = store(shop, [*payments, *(shop.payment(f"o{number}", 1) for number in range(20))])
    assert refused(stored) == [None] * 22
    assert [each.code_gas is not None for each in transactions(shop)] == [False, True]
    assert in_flight(shop) == transactions(shop)[1].gas


def test_batch_counts_until_its_receipt_is_read(make: Make) -> None:
    """The transfer of an honest wallet does not show what the others of its batch lost."""
    shop = make(batch_capture=BATCH_CAPTURE, finality=10)
    buyers = wallets(shop, 2)
    limit(shop, buyers[0], 2)
    stored = store(shop, [shop.payment(f"w{at}", 500, buyer) for at, buyer in enumerate(buyers)])
    fund(shop, buyers[1], 0)
    send(shop, stored)
    shop.chain.mine()
    shop.watcher.poll()
    assert shop.status("w0").startswith("Used, captured")
    assert in_flight(shop) == transactions(shop)[0].gas
    shop.progress.resume()
    assert (in_flight(shop), lost(shop)) == (0, transactions(shop)[0].gas // 2)


def test_automatic_captures_wait_for_receipts(selling: Shop) -> None:
    shop, buyers = selling, wallets(selling, 4)
    limit(shop, buyers[0], 2)
    automatic = AutoCaptures(shop.ledger, shop.sender, shop.merchant)
    ids = [f"a{at}" for at in range(4)]
    for id, buyer in zip(ids, buyers, strict=True):
        shop.orders.draft(id, shop.terms(500, buyer=buyer), auto_capture=True)
    signatures = [PayerSignature(id, shop.signature_of(id, buyer)) for id, buyer in zip(ids, buyers, strict=True)]
    checked = run_deferred(automatic.check(signatures))
    with shop.database.transaction() as tx:
        accepted = [each for each in automatic.store(tx, checked) if isinstance(each, AcceptedOrder)]
    assert [type(each.obstacle) for each in accepted] == [type(None)] * 2 + [GasBudgetInUse] * 2
    automatic.send(accepted)
    assert automatic.waiting() == ids[2:]
    assert isinstance(automatic.attempt("a2"), GasBudgetInUse)
    assert "in flight" in str(shop.orders.get("a2").last_error)
    assert shop.status("a2") == "Stored, unused / idle"
    shop.chain.mine()
    shop.go_on()
    assert [automatic.attempt(id) for id in ids[2:]] == [None, None]
    shop.settle()
    assert {shop.status(id) for id in ids} == {"Used, captured / final"}
    assert {shop.orders.get(id).last_error for id in ids} == {None}


def test_requested_capture_passes_and_counts(selling: Shop) -> None:
    shop, buyers = selling, wallets(selling, 3)
    limit(shop, buyers[0], 1)
    for at, buyer in enumerate(buyers[:2]):
        shop.captures.capture(shop.stored(f"a{at}", buyer=buyer))
    assert in_flight(shop) == sum(each.gas for each in transactions(shop)) > shop.sender.fees.code_lost_gas
    assert refused(store(shop, [shop.payment("b", 500, buyers[2])])) == [GasBudgetInUse]
    shop.settle()
    assert {shop.status("a0"), shop.status("a1")} == {"Used, captured / final"}
    assert refused(store(shop, [shop.payment("c", 500, buyers[2])])) == [None]


def test_cancellation_of_a_wallet_counts_until_its_receipt(shop: Shop) -> None:
    (buyer,) = wallets(shop, 1)
    shop.orders.void(shop.stored("a", buyer=buyer))
    shop.cancel("a", buyer)
    assert in_flight(shop) == transactions(shop)[0].gas
    shop.chain.mine()
    shop.progress.resume()
    assert in_flight(shop) == 0


@pytest.mark.parametrize("reverts", [False, True], ids=["captured", "reverted"])
def test_gas_counts_across_a_crash_until_the_receipt(selling: Shop, reverts: bool) -> None:
    shop, buyers = selling, wallets(selling, 2)
    limit(shop, buyers[0], 1)
    stored = store(shop, [shop.payment("a", 500, buyers[0])])
    shop.crashes.arm(CrashPoint.CAPTURE_STORED)
    with pytest.raises(Killed):
        send(shop, stored)
    fees = shop.sender.fees
    shop.restart()
    shop.sender.fees = fees
    assert refused(store(shop, [shop.payment("b", 500, buyers[1])])) == [GasBudgetInUse]
    if reverts:
        fund(shop, buyers[0], 0)
    shop.go_on()  # sends what was stored
    shop.chain.mine()
    shop.crashes.arm(CrashPoint.RECEIPT_APPLIED)
    with pytest.raises(Killed):
        shop.progress.resume()
    shop.restart()
    assert in_flight(shop) > 0
    shop.progress.resume()
    assert in_flight(shop) == 0
    assert (lost(shop) > 0) is reverts


def test_payers_without_code_do_not_count(selling: Shop) -> None:
    shop = selling
    shop.sender.fees = FeeSettings(code_lost_gas=0)
    assert refused(store(shop, [shop.payment(f"a{number}", 1) for number in range(3)])) == [None] * 3
    assert in_flight(shop) == 0


@pytest.mark.fake_chain
def test_intents_that_end_release_their_gas(shop: Shop) -> None:
    with shop.database.transaction() as tx:
        ids = [shop.sender.intents.store(tx, Purpose.CAPTURE, each, CALL) for each in "abc"]
        shop.sender.intents.store(tx, Purpose.CAPTURE, "ordinary", replace(CALL, runs_code=False))
        assert read_code_gas(tx, shop.chain.chain_id) == 300_000
        assert read_code_gas(tx, shop.chain.chain_id + 1) == 0
        close_intent(tx, ids[0], TxResult.REPLACED)
        assert read_code_gas(tx, shop.chain.chain_id) == 200_000
        hashes = tx.execute(text("SELECT hash FROM attempts ORDER BY transaction_id")).scalars().all()
        assert {each.id for each in find_included(tx, shop.chain.chain_id, hashes)} == set(ids[1:])
        close_included(tx, Purpose.CAPTURE, {"b": hashes[1]})
        assert read_code_gas(tx, shop.chain.chain_id) == 100_000
        assert [each.subject for each in find_included(tx, shop.chain.chain_id, hashes)] == ["c"]
        release_code_gas(tx, ids[2:])
        assert find_included(tx, shop.chain.chain_id, hashes) == []


@pytest.mark.fake_chain
def test_two_processes_decide_one_after_the_other(shop: Shop) -> None:
    """Also for different accounts: the budget is that of the chain."""
    shop.sender.fees = FeeSettings(code_lost_gas=150_000)
    database = Database(shop.url)
    ledger = Ledger(database, shop.ledger.clock)
    intents = replace(shop.sender.intents, account=type(shop.sender.account)(account(1_002)))
    other = TransactionSender(ledger, shop.rpc, intents, shop.policy, shop.sender.fees)
    results: list[BaseException | None] = []

    def decide() -> None:
        try:
            with database.transaction() as tx:
                other.lost_gas.require_room(tx, CALL)
                other.intents.store(tx, Purpose.CAPTURE, "b", CALL)
            results.append(None)
        except BaseException as error:
            results.append(error)

    thread = threading.Thread(target=decide)
    with shop.database.transaction() as tx:
        shop.sender.lost_gas.require_room(tx, CALL)
        shop.sender.intents.store(tx, Purpose.CAPTURE, "a", CALL)
        thread.start()
        thread.join(0.3)  # enough for a process that does not wait; one that waits ends after the commit
    thread.join()
    database.close()
    assert [type(each) for each in results] == [GasBudgetInUse]
    assert in_flight(shop) == CALL.gas


@pytest.mark.fake_chain
@pytest.mark.sqlite_only
def test_gas_in_flight_is_found_by_its_index(shop: Shop) -> None:
    with shop.database.reading() as tx:
        for query in ("SUM(code_gas)", "code_gas"):
            plan = tx.execute(
                text(f"EXPLAIN QUERY PLAN SELECT {query} FROM transactions WHERE chain_id = 1 AND code_gas IS NOT NULL")
            )
            assert "USING COVERING INDEX transactions_code_gas" in str(plan.all())


def test_ordinary_transfer_costs_one_query(shop: Shop) -> None:
    """No payer with code has a transaction in flight, so nothing is searched for or released."""
    assert shop.pay_signed({"a": 500}) == ["a"]
    statements: list[str] = []
    shop.chain.mine()
    event.listen(shop.database.engine, "before_cursor_execute", lambda *arguments: statements.append(arguments[2]))
    shop.watcher.poll()
    assert shop.status("a").startswith("Used, captured")
    assert [each.split()[0] for each in statements if "code_gas IS NOT NULL" in each] == ["SELECT"]
    assert not any("code_gas=" in each and each.startswith("UPDATE") for each in statements)
