"""Random actions of a life: of the merchant, of payers, of the chain, and faults."""

import dataclasses
from collections.abc import Callable

import httpx
from x402.schemas import PaymentPayload

from foreseal.payments.chain import ChainError
from foreseal.payments.ledger import OrderState
from foreseal.payments.orders.terms import authorization, message_by
from foreseal.payments.typed_data import TransferAuthorization
from foreseal.payments.x402.payment_key import granted
from payments.fake.contracts import TOKEN, call_data
from payments.order_amounts import captured_amount
from payments.people import BUYERS
from payments.shop import SHOP
from wallets.kinds import Form
from wallets.lives.world import FINALITY, Delivery, Wallet, World
from wallets.paid_operations import reason_of
from wallets.paid_shop import CHARGE, PATHS, PRICE

_LOSABLE = ("eth_sendRawTransaction", "eth_getTransactionReceipt", "eth_getLogs", "eth_call", "eth_estimateGas")
_GOODS = {PATHS["exact"]: PRICE, PATHS["permit2"]: PRICE, PATHS["upto"]: CHARGE}
_LONG = 10**6
Action = Callable[[World], None]


def _death(world: World) -> int | None:
    """Return the ordinal of the crash point at which the process dies, or None."""
    return world.draw.randrange(8) if world.draw.random() < 0.4 else None


def _order(world: World) -> str | None:
    return f"o{world.draw.randrange(world.made)}" if world.made else None


def _amount(world: World) -> int:
    return world.draw.choice([PRICE, world.draw.randrange(1, 5_000)])


def _seconds(world: World) -> int:
    return world.draw.choice([90, 600, _LONG])


def _sign(world: World, id: str, wallet: Wallet) -> None:
    orders = world.shop.orders
    order = orders.get(id)
    message = message_by(order, orders.signer(order, wallet.payer.address))
    orders.accept(id, wallet.payer.sign(message, world.shop.merchant.domain), wallet.payer.address)


def order(world: World) -> None:
    """Create an order with or without payer, or with a maximum; sign it, and capture it mostly."""
    shop, wallet, id = world.shop, world.draw.choice(world.wallets), f"o{world.made}"
    form = world.draw.choice(["assigned", "unassigned", "permit"])
    try:
        if form == "unassigned":
            shop.unassigned(id, _amount(world), seconds=_seconds(world))
        elif form == "assigned":
            terms = shop.terms(_amount(world), seconds=_seconds(world))
            shop.orders.draft(id, dataclasses.replace(terms, payer=wallet.payer.address))
        else:
            maximum = shop.permit_terms(_amount(world), seconds=_seconds(world))
            shop.orders.draft_permit(id, dataclasses.replace(maximum, payer=wallet.payer.address))
    except ChainError:
        return
    world.made += 1
    if world.draw.random() < 0.9:
        world.hostile(wallet, lambda: _sign(world, id, wallet), _death(world))
    if world.draw.random() < 0.7:
        _capture(world, id, wallet)


def _capture(world: World, id: str, wallet: Wallet) -> None:
    def capturing() -> None:
        order = world.shop.orders.get(id)
        part = 1 if order.checkout is None else world.draw.randrange(1, 5)
        amount = order.amount if order.checkout is None else max(1, order.amount * part // 4)
        world.shop.captures.capture(id, amount)

    world.hostile(wallet, capturing, _death(world))


def capture(world: World) -> None:
    """Capture an order, maybe once more."""
    id = _order(world)
    if id is not None:
        _capture(world, id, world.wallet_of(world.shop.orders.get(id).payer) or world.wallets[0])


def pay_group(world: World) -> None:
    """Send signed payments of several wallets as one group."""
    shop, payments = world.shop, []
    for _ in range(world.draw.randrange(1, 4)):
        wallet = world.draw.choice(world.wallets)
        terms = dataclasses.replace(shop.terms(_amount(world), seconds=_seconds(world)), payer=wallet.payer.address)
        unsigned = shop.payments.new(f"g{shop.drawn}", terms, b"", capture=True)
        signature = wallet.payer.sign(authorization(unsigned), shop.merchant.domain)
        payments.append(dataclasses.replace(unsigned, signature=signature))
    world.hostile(wallet, lambda: shop.store_group(payments), _death(world))


def void_or_cancel(world: World) -> None:
    """Void an order, and relay the payer's cancellation mostly."""
    id = _order(world)
    if id is None:
        return
    world.act(lambda: world.shop.orders.void(id), _death(world))
    wallet = world.wallet_of(world.shop.orders.get(id).payer)
    if wallet is not None and world.draw.random() < 0.7:
        cancellations, domain = world.shop.cancellations, world.shop.merchant.domain
        world.hostile(
            wallet,
            lambda: cancellations.cancel(id, wallet.payer.sign(cancellations.message(id), domain)),
            _death(world),
        )


def refund(world: World) -> None:
    """Refund a part of a captured order."""
    captured = world.shop.in_state(OrderState.CAPTURED)
    if captured:
        id = world.draw.choice(captured)
        amount = max(1, (captured_amount(world.shop.orders.get(id)) or 1) // world.draw.randrange(1, 5))
        key = f"{id} {world.draw.randrange(3)}"
        world.act(lambda: world.shop.refunds.refund(key, id, amount), _death(world))


def buy(world: World) -> None:
    """Pay a response of the seller."""
    wallet, path = world.draw.choice(world.wallets), world.draw.choice(list(_GOODS))
    payment = world.paid.shop.payment(wallet.payer, path, world.demands[path])
    world.payments.append((path, payment))
    world.hostile(wallet, lambda: _request(world, path, payment), _death(world))


def buy_again(world: World) -> None:
    """Repeat the request of an earlier payment."""
    if world.payments:
        path, payment = world.draw.choice(world.payments)
        wallet = world.wallet_of(granted(payment).key.payer) or world.wallets[0]
        world.hostile(wallet, lambda: _request(world, path, payment), _death(world))


def settle_directly(world: World) -> None:
    """Settle an earlier payment at the facilitator, without the seller."""
    if world.payments:
        _, payment = world.draw.choice(world.payments)
        world.act(lambda: world.paid.facilitator.settle(payment, payment.accepted), _death(world))


def _request(world: World, path: str, payment: PaymentPayload) -> None:
    block = world.chain.pending.number
    response = world.paid.shop.buy(path, payment)
    if response.status_code != httpx.codes.OK:
        world.counted[f"seller: {reason_of(response)[:60]}"] += 1
        return
    key, run = granted(payment).key.name, response.json()["run"]
    delivered = world.deliveries.setdefault(key, Delivery(payment, _GOODS[path], run, block))
    if delivered.run != run:
        world.repeated.append(key)


def buy_by_channel(world: World) -> None:
    """Open a channel, and pay responses by vouchers."""
    wallet = world.draw.choice(world.wallets)

    def buying() -> None:
        responses = world.paid.shop.buy_ticks(wallet.payer)
        delivered = sum(each.status_code == httpx.codes.OK for each in responses)
        world.ticks += delivered
        world.counted["delivered for vouchers"] += delivered

    world.hostile(wallet, buying)


def share_nonce(world: World) -> None:
    """Pay a response of the seller by an authorization with the nonce of a new order of the same payee."""
    shop, wallet, id = world.shop, world.draw.choice(world.wallets), f"o{world.made}"
    terms = dataclasses.replace(shop.terms(PRICE, seconds=_LONG), payer=wallet.payer.address)
    try:
        shop.orders.draft(id, terms)
    except ChainError:
        return
    world.made += 1
    world.shared.add(id)
    if world.draw.random() < 0.5:
        world.act(lambda: _sign(world, id, wallet))
    path = PATHS["exact"]
    paying = TransferAuthorization(wallet.payer.address, SHOP.address, PRICE, 0, 2**40, terms.nonce)
    domain = shop.merchant.domain
    signature = "0x" + wallet.payer.sign(paying, domain).hex()
    values = {"authorization": paying.typed_data(domain)["message"], "signature": signature}
    payment = PaymentPayload(payload=values, accepted=world.demands[path])
    world.payments.append((path, payment))
    world.hostile(wallet, lambda: _request(world, path, payment), _death(world))


def pay_unmatched(world: World) -> None:
    """Transfer tokens that pay no order."""
    data = call_data("transfer(address,uint256)", SHOP.address, world.draw.randrange(1, 1_000))
    world.chain.inject(BUYERS[0].address.lower(), TOKEN, data)


def restore_wallet(world: World) -> None:
    """Let a wallet change back, and give it tokens."""
    wallet = world.draw.choice(world.wallets)
    data = call_data("transfer(address,uint256)", wallet.payer.address, 10_000)
    world.chain.inject(BUYERS[1].address.lower(), TOKEN, data)
    if wallet.kind.switched is not None and wallet.kind.form is not Form.KEY:
        world.switches.restore(wallet.payer, wallet.kind, world.pending_head)


def work(world: World) -> None:
    """Run the periodic work of all services, which may die in it."""
    world.act(world.work, _death(world))


def watch(world: World) -> None:
    """Read the transfers to the payee."""
    world.act(world.shop.watcher.poll, _death(world))


def mine(world: World) -> None:
    """Advance time and blocks."""
    world.chain.advance(world.draw.choice([0, 0, 10, 100]))
    for _ in range(world.draw.choice([0, 1, 2, 9])):
        world.chain.mine()
        world.act(world.work)
    world.chain.step()


def reorganize(world: World) -> None:
    """Replace the newest blocks, with or without their transactions."""
    depth = world.draw.choice([1, 2, 4, FINALITY])
    world.counted["reorganizations"] += 1
    undone = world.chain.latest.number - depth
    for each in world.deliveries.values():
        each.is_exposed = each.is_exposed or each.block > undone
    world.chain.reorganize(depth, dropped=world.draw.random() < 0.5, late=world.draw.randrange(3))


def lose(world: World) -> None:
    """Lose the next response of a method, or the transactions in the pool."""
    world.shop.node.losses.append((world.draw.choice(_LOSABLE), world.draw.random() < 0.5))
    if world.draw.random() < 0.3:
        world.chain.drop()


def restart(world: World) -> None:
    """Restart all services."""
    world.restart()


ACTIONS: dict[Action, int] = {
    order: 10,
    capture: 4,
    pay_group: 5,
    void_or_cancel: 3,
    refund: 2,
    buy: 10,
    buy_again: 4,
    share_nonce: 3,
    settle_directly: 2,
    buy_by_channel: 1,
    pay_unmatched: 1,
    restore_wallet: 3,
    work: 3,
    watch: 2,
    mine: 8,
    reorganize: 2,
    lose: 2,
    restart: 1,
}
"""Weights of the actions."""
