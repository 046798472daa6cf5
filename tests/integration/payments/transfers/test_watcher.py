"""The watcher's rows match a fresh scan of the chain, despite any reorganization."""

import contextlib

import pytest
from sqlalchemy import event, select

from foreseal.payments.chain import ChainReorganized, ConfirmationPolicy, ConfirmationTier, FinalityBroken, NoResponse
from foreseal.payments.crash_points import CrashPoint
from foreseal.payments.ledger import ConcurrentUpdate, Ledger
from foreseal.payments.ledger.models import CursorRecord, UnmatchedTransferRecord
from foreseal.payments.orders.capture_checks import build_capture_call
from foreseal.payments.orders.reconciler import OrderReconciler
from foreseal.payments.orders.terms import memo
from foreseal.payments.transfers import watcher
from foreseal.payments.transfers.authorization_logs import windows
from foreseal.payments.transfers.settings import WatcherSettings
from foreseal.payments.transfers.watcher import TransferWatcher
from payments.fake.contracts import TOKEN, call_data
from payments.scan import received
from payments.shop import ADDRESS, BUYERS, SHOP, Killed, Make, Shop


def fresh(shop: Shop) -> set[tuple[object, ...]]:
    return {each.row() for each in received(shop.chain)}


def reasons(shop: Shop) -> dict[str, tuple[str, str | None]]:
    """Return the reasons of unmatched transfers, with their orders."""
    with shop.database.reading() as tx:
        rows = tx.execute(select(UnmatchedTransferRecord))
        return {row.transaction_hash: (row.reason.value, row.order_id) for row in rows}


def caught_up(shop: Shop) -> int:
    """Poll until nothing changes any more and return the number of polls."""
    for attempt in range(1, 10):
        with contextlib.suppress(ChainReorganized):
            shop.watcher.poll()
            return attempt
    raise AssertionError("the watcher does not come to an end")


@pytest.mark.sqlite_only
def test_ranges_with_many_transfers_are_stored_one_by_one(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watcher, "_MAX_RANGE_LOGS", 3)
    for number in range(12):
        shop.pay(100 + number, buyer=BUYERS[number % 3])
    caught_up(shop)
    assert shop.rows() == fresh(shop)
    ends = [done for done, _ in shop.progressed]
    assert len(ends) >= 4
    assert ends == sorted(ends)
    shop.progressed.clear()
    shop.chain.mine()
    caught_up(shop)
    assert shop.rows() == fresh(shop)


@pytest.mark.sqlite_only
@pytest.mark.fake_chain
@pytest.mark.parametrize("is_named", [False, True])
def test_many_transfers_of_one_block_are_recorded_together(shop: Shop, *, is_named: bool) -> None:
    """Anybody can send thousands of transfers, also with the memo of an order."""
    named = memo(shop.stored("order")) if is_named else bytes(32)

    def statements(transfers: int) -> int:
        for number in range(transfers):
            data = call_data("transferWithMemo(address,uint256,bytes32)", SHOP.address, 1 + number, named)
            shop.chain.inject(BUYERS[number % 3].address.lower(), TOKEN, data)
        shop.chain.mine()
        counted = 0

        def count(*_: object) -> None:
            nonlocal counted
            counted += 1

        event.listen(shop.database.engine, "before_cursor_execute", count)
        caught_up(shop)
        event.remove(shop.database.engine, "before_cursor_execute", count)
        return counted

    statements(30)
    # Beyond the first ones, a transfer needs no statement of its own.
    assert statements(150) - statements(30) < 30
    assert shop.rows() == fresh(shop)
    listed = [order for _, order in reasons_of_all(shop)]
    assert (len(listed), listed.count("order")) == (210, 60 if is_named else 0)


def reasons_of_all(shop: Shop) -> list[tuple[str, str | None]]:
    """Return reason and order of each unmatched transfer."""
    with shop.database.reading() as tx:
        rows = tx.execute(select(UnmatchedTransferRecord))
        return [(row.reason.value, row.order_id) for row in rows]


@pytest.mark.parametrize("depth", [3, 20])
def test_rows_equal_a_fresh_scan_after_5000_blocks(shop: Shop, depth: int) -> None:
    shop.captures.capture(shop.stored("early", 7))
    shop.go_on()
    shop.captures.capture(shop.stored("open", 9))
    for number in range(12):
        shop.chain.mine(5000 // 12)
        shop.pay(100 + number, buyer=BUYERS[number % 3])
    shop.chain.mine(3)
    shop.pay(1_000)
    asked = 0

    def reorganize(method: str) -> None:
        nonlocal asked
        asked += method == "eth_getLogs"
        if method == "eth_getLogs" and asked in (3, 6):
            shop.chain.reorganize(depth, late=2)
            shop.pay(50 + asked)

    shop.node.hook = reorganize
    shop.progressed.clear()
    caught_up(shop)
    shop.node.hook = None
    assert asked > 5
    caught_up(shop)
    assert shop.rows() == fresh(shop)
    assert len(shop.rows()) == 17
    assert shop.node.widest <= 1_999
    assert [done for done, _ in shop.progressed][:2] == [1998, 3997]
    assert shop.progressed[-1][0] == shop.progressed[-1][1] == shop.chain.latest.number
    assert shop.balance().faults == ()
    assert shop.balance().captured == 16
    shop.settle()
    assert shop.status("early") == shop.status("open") == "Used, captured / final"


@pytest.mark.real_contracts
def test_catch_up_survives_reorganizations_over_5000_blocks(shop: Shop) -> None:
    """`anvil_reorg` by 3 and by 20 blocks, between the polls; transactions are pre-confirmed again at once."""
    shop.captures.capture(shop.stored("early", 7))
    shop.go_on()
    shop.captures.capture(shop.stored("open", 9))
    for number in range(12):
        shop.chain.mine(5000 // 12)
        shop.pay(100 + number, buyer=BUYERS[number % 3])
    shop.captures.capture(shop.stored("newest", 11))
    shop.chain.mine(2)
    depths, before = [3, 20], shop.chain.latest.hash

    def reorganize(method: str) -> None:
        if method == "eth_getLogs" and shop.node.calls.count(method) % 3 == 0 and depths:
            shop.chain.rpc("anvil_reorg", depths.pop(0), [])

    shop.node.hook = reorganize
    shop.progressed.clear()
    caught_up(shop)
    shop.node.hook = None
    assert not depths
    assert shop.node.widest <= 1_999
    assert len(shop.progressed) >= 3
    assert shop.chain.rpc("eth_getBlockByHash", before, False) is None
    shop.watcher.poll()
    assert shop.rows() == fresh(shop)
    assert len(shop.rows()) == 15
    assert shop.status("early") == "Used, captured / final"
    assert shop.status("newest") == "Used, captured / provisional"
    shop.settle()
    assert {shop.status(id) for id in ("early", "open", "newest")} == {"Used, captured / final"}
    assert shop.balance().faults == ()


@pytest.mark.parametrize("depth", [1, 3, 11, 12, 13, 20, 39])
@pytest.mark.parametrize("dropped", [False, True])
def test_a_reorganization_of_any_depth_is_noticed(shop: Shop, depth: int, *, dropped: bool) -> None:
    shop.chain.mine(50)
    shop.captures.capture(shop.stored("a"))
    for number in range(18):
        shop.chain.mine(2)
        if number % 5 == 0:
            shop.pay(number + 1)
        shop.watcher.poll()
    before = shop.rows()
    assert shop.status("a") == "Used, captured / confirmed"
    shop.chain.reorganize(depth, dropped=dropped, late=1)
    shop.watcher.poll()
    assert shop.rows() == fresh(shop)
    # The last payment is in the fifth block from the end.
    assert (shop.rows() != before) == (depth >= 5)
    assert shop.balance().faults == ()
    # The reorganized chain is one block longer, and its capture therefore final.
    assert shop.status("a") == "Used, captured / final"


def test_dropped_capture_reopens_its_order_and_another_closes_it(shop: Shop) -> None:
    shop.captures.capture(shop.stored("a"))
    shop.chain.mine(2)
    shop.watcher.poll()
    assert shop.status("a") == "Used, captured / provisional"
    shop.chain.reorganize(2, dropped=True)
    shop.watcher.poll()
    assert shop.status("a") == "Stored, unused / unknown"
    assert shop.rows() == set()
    shop.progress.advance("a")
    shop.chain.mine()
    shop.watcher.poll()
    assert shop.status("a") == "Used, captured / provisional"
    shop.chain.mine(60)
    shop.watcher.poll()
    assert shop.status("a") == "Used, captured / final"


def test_watcher_alone_advances_orders_through_preconfirmation(make: Make) -> None:
    shop = make(ConfirmationPolicy(ConfirmationTier.SEALED))
    shop.captures.capture(shop.stored("a"))
    shop.chain.step()
    shop.watcher.poll()
    assert shop.status("a") == "Used, captured / provisional"
    ((hash, position, *_),) = shop.rows()
    shop.chain.mine()
    shop.watcher.poll()
    assert shop.status("a") == "Used, captured / confirmed"
    ((sealed, place, block, *_),) = shop.rows()
    assert (sealed, place, block) == (hash, position, shop.chain.latest.hash)


def test_reincluded_confirmed_capture_is_provisional_again(shop: Shop) -> None:
    shop.captures.capture(shop.stored("a"))
    shop.chain.mine(14)
    shop.watcher.poll()
    assert shop.status("a") == "Used, captured / confirmed"
    shop.chain.reorganize(14, late=10)
    shop.watcher.poll()
    assert shop.status("a") == "Used, captured / provisional"
    assert shop.orders.timeline("a")[-1].trigger == "policy is no longer met"


def test_duplicate_and_removed_logs_change_nothing(shop: Shop) -> None:
    shop.node.doubled = True
    shop.captures.capture(shop.stored("a"))
    shop.pay(3)
    shop.watcher.poll()
    shop.watcher.poll()
    assert shop.rows() == fresh(shop)
    assert len(shop.rows()) == 2


def test_an_unmatched_transfer_is_recorded_with_its_reason(shop: Shop) -> None:
    for id in ("open", "paid", "void"):
        shop.stored(id, 500)
    shop.captures.capture("paid")
    shop.orders.void("void")
    shop.chain.mine()
    shop.watcher.poll()
    hashes = {
        shop.pay(499, memo("open")): ("underpaid", "open"),
        shop.pay(501, memo("open")): ("overpaid", "open"),
        shop.pay(500, memo("open")): ("direct", "open"),
        shop.pay(500, memo("paid")): ("duplicate", "paid"),
        shop.pay(500, memo("void")): ("late", "void"),
        shop.pay(500, memo("nothing")): ("unmatched", None),
        shop.pay(500): ("unmatched", None),
    }
    shop.watcher.poll()
    assert reasons(shop) == hashes
    balance = shop.balance()
    assert (balance.received, balance.captured, balance.unmatched, balance.faults) == (4_000, 500, 3_500, ())
    assert shop.status("open") == "Stored, unused / idle"
    assert shop.orders.timeline("open")[-1].details["reason"] == "direct"
    shop.chain.reorganize(6, dropped=True)
    shop.watcher.poll()
    assert reasons(shop).keys() == {each.hash for each in received(shop.chain)} & hashes.keys()
    assert shop.balance().faults == ()


@pytest.mark.fake_chain
def test_reorganization_of_a_final_block_is_an_error(shop: Shop) -> None:
    shop.captured("a")
    before = shop.rows()
    shop.chain.finalized = 0
    shop.chain.reorganize(shop.chain.latest.number, dropped=True)
    with pytest.raises(FinalityBroken, match="final block"):
        shop.watcher.poll()
    assert shop.rows() == before
    assert shop.status("a") == "Used, captured / final"


@pytest.mark.fake_chain
def test_moved_transfer_below_the_final_block_is_an_error(shop: Shop) -> None:
    shop.captured("a")
    before = shop.rows()
    shop.chain.finalized = 0
    shop.chain.reorganize(shop.chain.latest.number)
    assert fresh(shop) != before
    with pytest.raises(FinalityBroken, match="final block"):
        shop.watcher.poll()
    assert shop.rows() == before
    assert shop.status("a") == "Used, captured / final"


@pytest.mark.fake_chain
def test_transaction_may_differ_after_a_reorganization(shop: Shop) -> None:
    shop.stored("a", 500)
    hash = shop.pay(500, memo("a"))
    shop.watcher.poll()
    assert reasons(shop) == {hash: ("direct", "a")}
    shop.chain.reorganize(1)
    location = shop.chain.find(hash)
    assert location is not None
    landed = location[1]
    landed.events = [
        (address, topics, (499).to_bytes(32, "big") if data else data) for address, topics, data in landed.events
    ]
    shop.watcher.poll()
    assert shop.rows() == fresh(shop)
    assert [row[-1] for row in shop.rows()] == [499]
    assert reasons(shop) == {hash: ("underpaid", "a")}


def test_stale_receipt_of_a_dropped_chain_never_becomes_final(shop: Shop) -> None:
    shop.captures.capture(shop.stored("a"))
    shop.chain.mine()
    shop.watcher.poll()
    assert shop.status("a") == "Used, captured / provisional"
    moved = []

    def passed(point: CrashPoint) -> None:
        """Between receipt and transaction the capture leaves the chain, which advances past the watcher's window."""
        if point is CrashPoint.RECEIPT_READ and not moved:
            moved.append(shop.chain.reorganize(1, dropped=True))
            shop.chain.mine(60)
            shop.watcher.poll()
            assert shop.status("a") == "Stored, unused / unknown"

    slower = OrderReconciler(Ledger(shop.database, lambda: 0, passed), shop.sender, shop.merchant)
    slower.advance("a")
    assert shop.status("a") == "Used, captured / provisional"
    shop.watcher.poll()
    assert shop.status("a") == "Stored, unused / unknown"
    assert shop.rows() == fresh(shop) == set()
    shop.settle()
    assert shop.status("a") == "Used, captured / final"


def test_one_of_two_concurrent_watchers_commits(shop: Shop) -> None:
    shop.pay(5)
    shop.watcher.poll()
    shop.pay(6)
    meanwhile = [shop.watcher]

    def passed(point: CrashPoint) -> None:
        if point is CrashPoint.WINDOW_READ and meanwhile:
            meanwhile.pop().poll()

    watch = WatcherSettings(shop.chain.chain_id, ADDRESS, SHOP.address)
    second = TransferWatcher(Ledger(shop.database, lambda: 0, passed), shop.rpc, watch)
    with pytest.raises(ConcurrentUpdate, match="another watcher"):
        second.poll()
    second.poll()
    assert shop.rows() == fresh(shop)


def test_cursors_below_the_final_block_are_deleted(shop: Shop) -> None:
    for _ in range(30):
        shop.chain.mine(3)
        shop.watcher.poll()
    with shop.database.reading() as tx:
        numbers = sorted(tx.execute(select(CursorRecord.block_number)).scalars())
    assert numbers[0] == -1
    assert numbers[1] <= shop.chain.finalized < numbers[2]
    assert len(numbers) == 2 + shop.chain.finality // 3 + 1


def test_crash_between_rows_and_cursor_leaves_both_unchanged(shop: Shop) -> None:
    shop.pay(5)
    # Below the range that the next poll would read again anyway.
    shop.chain.mine(30)
    shop.crashes.arm(CrashPoint.WINDOW_REPLACED)
    with pytest.raises(Killed):
        shop.watcher.poll()
    with shop.database.reading() as tx:
        assert list(tx.execute(select(CursorRecord.block_number)).scalars()) == [-1]
    assert shop.rows() == set()
    shop.restart()
    shop.watcher.poll()
    assert shop.rows() == {each.row() for each in received(shop.chain)}
    assert len(shop.rows()) == 1


def test_lost_response_preserves_stored_rows(shop: Shop) -> None:
    shop.pay(5)
    shop.watcher.poll()
    shop.pay(6)
    for method in ("eth_getLogs", "eth_getTransactionReceipt", "eth_getBlockByNumber"):
        shop.node.losses.append((method, False))
        with pytest.raises(NoResponse, match=method):
            shop.watcher.poll()
        assert len(shop.rows()) == 1
    shop.watcher.poll()
    assert len(shop.rows()) == 2


@pytest.mark.fake_chain
def test_capture_missing_from_the_database_is_not_lost(shop: Shop) -> None:
    shop.stored("a")
    shop.captures.capture("a")
    raw = next(iter(shop.chain.pool.values()))
    shop.chain.pool.clear()
    # Another ledger has the order but not its capture.
    shop.stored("b")
    order = shop.orders.get("b")
    shop.chain.pool[raw.sender, raw.nonce] = type(raw)(
        raw.hash, raw.sender, raw.nonce, raw.to, build_capture_call(order, None)[1]
    )
    shop.chain.mine()
    shop.watcher.poll()
    assert shop.status("b") == "Used, captured / provisional"
    assert shop.balance().faults == ()


def test_windows_cover_every_block_once() -> None:
    assert list(windows(0, 5_000)) == [(0, 1998), (1999, 3997), (3998, 5000)]
    assert list(windows(5, 5)) == [(5, 5)]
    assert list(windows(6, 5)) == []


def test_invalid_watcher_settings_are_rejected() -> None:
    for wrong in ({"widest": 0}, {"widest": 2_000}, {"overlap": 0}, {"start": -1}):
        with pytest.raises(ValueError, match="must be"):
            WatcherSettings(1, ADDRESS, SHOP.address, **wrong)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="blocks: 0"):
        ConfirmationPolicy(ConfirmationTier.BLOCKS, 0)
