"""Invariants of a life, checked against the chain and not against the library."""

from collections import Counter

from sqlalchemy import select

from foreseal.payments.ledger import DisbursementState, Finality, OrderState
from foreseal.payments.ledger.models import OrderRecord, RefundRecord, TransactionRecord
from foreseal.payments.ledger.queries import fetch_all
from foreseal.payments.ledger.states import IN_FLIGHT
from payments.order_amounts import captured_amount
from payments.people import BATCH_CAPTURE
from payments.scan import canceled, incoming, is_sweep, movements, paid
from payments.shop import SHOP
from wallets.lives.world import World
from wallets.paid_shop import TICK

MAX_BLOCKS = 3


def after_step(world: World) -> list[str]:
    """Return what is wrong after a step."""
    violations = [f"the ledger is inconsistent: {fault}" for fault in world.shop.balance().faults]
    violations += [f"payment {key} was delivered twice" for key in world.repeated]
    goods, money = delivered(world), received(world)
    if goods > money:
        violations.append(f"goods of {goods} units were delivered for {money}")
    return violations


def delivered(world: World) -> int:
    """Return the value of final orders, and of paid responses that no reorganization concerned."""
    with world.shop.database.reading() as tx:
        orders = fetch_all(tx, select(OrderRecord).where(OrderRecord.state == OrderState.CAPTURED))
    final = sum(captured_amount(each) or 0 for each in orders if each.step is Finality.FINAL)
    return final + sum(each.goods for each in world.deliveries.values() if not each.is_exposed)


def received(world: World) -> int:
    """Return what payers sent to the payee or its batch capture contract, pre-confirmed transfers included."""
    own = {SHOP.address.lower(), BATCH_CAPTURE.lower()}
    return sum(each.amount for each in movements(world.chain) if each.recipient in own and each.sender not in own)


def waiting(world: World) -> list[str]:
    """Return what is wrong with transactions that the node rejects."""
    with world.shop.database.reading() as tx:
        rows = fetch_all(tx, select(TransactionRecord).where(TransactionRecord.ending.is_(None)))
    latest, violations = world.chain.latest.number, []
    for row in rows:
        since = row.rejected_since
        behind = [each for each in rows if each.sender == row.sender and each.account_nonce > row.account_nonce]
        if since is not None and behind and latest > since + MAX_BLOCKS + 1:
            violations.append(
                f"{len(behind)} transactions wait since block {since} behind {row.purpose}: {row.rejection}"
            )
    return violations


def at_end(world: World) -> list[str]:
    """Return what is wrong once everything is final and no fault is active."""
    violations = after_step(world)
    came = incoming(world.chain)
    if world.shop.rows() != {each.row() for each in came}:
        violations.append("the transfers in the ledger are not those on the chain")
    if world.shop.balance().received != sum(each.amount for each in came if not is_sweep(each)):
        violations.append("the received sum is not that of the chain")
    used = Counter((each.sender, each.nonce) for each in came if each.nonce is not None)
    violations += [f"nonce {nonce.hex()} of {sender} was paid twice" for (sender, nonce), n in used.items() if n > 1]
    violations += _orders(world, set(used))
    violations += _deliveries(world, set(used))
    return violations + _disbursements(world)


def _orders(world: World, used: set[tuple[str, bytes | None]]) -> list[str]:
    violations, ended = [], canceled(world.chain)
    with world.shop.database.reading() as tx:
        orders = fetch_all(tx, select(OrderRecord))
        open_transactions = fetch_all(tx, select(TransactionRecord).where(TransactionRecord.ending.is_(None)))
    for order in orders:
        key = ((order.payer or "").lower(), order.nonce)
        world.counted[f"order: {order.state}"] += 1
        is_captured = order.state is OrderState.CAPTURED
        if is_captured != (key in used) and order.id not in world.shared:
            violations.append(f"order {order.id} is {order.state}, its nonce is {'' if key in used else 'not '}used")
        if order.state is OrderState.CANCELED and key not in ended:
            violations.append(f"order {order.id} is canceled, but not on the chain")
        if order.step in IN_FLIGHT or (is_captured and order.step is not Finality.FINAL):
            violations.append(f"order {order.id} is {order.state} / {order.step} at the end")
    return violations + [f"transaction {row.purpose} of {row.subject} is open at the end" for row in open_transactions]


def _deliveries(world: World, used: set[tuple[str, bytes | None]]) -> list[str]:
    with world.shop.database.reading() as tx:
        orders = fetch_all(tx, select(OrderRecord).where(OrderRecord.state == OrderState.CAPTURED))
    captured = {((order.payer or "").lower(), order.nonce) for order in orders}
    violations = []
    for key, delivery in world.deliveries.items():
        world.counted["delivered by the seller"] += 1
        nonce = (delivery.payer.lower(), delivery.nonce)
        if "authorization" in delivery.payment.payload and nonce not in used:
            world.counted["delivered, undone by a reorganization"] += 1
            if not delivery.is_exposed:
                violations.append(f"payment {key} was delivered, and not paid")
        if nonce in captured:
            violations.append(f"payment {key} paid a response and an order")
    return violations


def _disbursements(world: World) -> list[str]:
    with world.shop.database.reading() as tx:
        refunds = fetch_all(tx, select(RefundRecord))
    states = {each.state for each in refunds}
    world.counted["refunds"] += sum(each.state is DisbursementState.COMPLETE for each in refunds)
    violations = []
    if not states <= {DisbursementState.COMPLETE, DisbursementState.BLOCKED}:
        violations.append(f"refunds are {states} at the end")
    promised = Counter(
        (each.recipient.lower(), each.amount) for each in refunds if each.state is DisbursementState.COMPLETE
    )
    if Counter((each.recipient, each.amount) for each in paid(world.chain)) != promised:
        violations.append("the refunds in the ledger are not those on the chain")
    return violations


def channel_goods(world: World) -> int:
    """Return the value of the requests that vouchers paid."""
    return TICK * world.ticks
