"""Outcomes of purchases according to the chain: a real node, a real facilitator, and sellers that lie."""

import asyncio
import time
from collections.abc import Callable, Iterator

import httpx
import pytest
from click.testing import CliRunner
from x402.schemas import PaymentPayload

from foreseal.cli.pay import pay_group
from foreseal.payments.chain import NoResponse
from foreseal.payments.ledger import Finality, PurchaseState, Trigger, TxStatus
from foreseal.payments.typed_data import Cancellation
from foreseal.payments.x402 import payment_status
from foreseal.payments.x402.buyer import AsyncPayingTransport, PurchaseRejected, ReportSource
from foreseal.payments.x402.buyer.purchases import PurchaseIntent
from foreseal.payments.x402.buyer.reconciliation import Reconciliation, payment_key, totals
from payments.x402.buyers import USDC, Buyers, policy
from payments.x402.paying import demand, over_permit2
from payments.x402.seller_double import Answer, Seller, refused, settled
from payments.x402.selling import ORIGIN, Selling
from payments.x402.world import BUYERS, DOMAIN, NETWORK, STRANGER, TOKEN, World

_, PRESENTED, SPENT, RETURNED = PurchaseState
BUYER = BUYERS[20]
RULES = policy(per_session=100_000, per_day=100_000)
# The table tests run on the other database.
pytestmark = pytest.mark.sqlite_only


@pytest.fixture(autouse=True)
def _as_before(world: World) -> Iterator[None]:
    """Restore the chain, because its clock advances past the expiry of payments here.

    Blocks are sealed on request only: what is not final stays so, however slow the machine is.
    """
    world.rpc("evm_setIntervalMining", 0)
    try:
        with world.rollback():
            yield
    finally:
        world.rpc("evm_setIntervalMining", 2)


class Shop:
    """A buyer whose seller returns a scripted response, regardless of its use of the payment."""

    def __init__(self, buyers: Buyers, world: World, url: str) -> None:
        buyers.now = int(time.time())
        self.buyers = buyers
        self.world = world
        self.facilitator = world.facilitator(url)
        self.reconciliation = Reconciliation(buyers.purchases, {NETWORK: world.node()})

    def buy(self, answer: Answer, asked: object = None, charged: int | None = None, settles: bool = False) -> None:
        """Buy with a GET request that no other purchase uses."""

        def answered(payload: PaymentPayload) -> httpx.Response:
            if settles:
                terms = payload.accepted
                if charged is not None:
                    terms = terms.model_copy(update={"amount": str(charged)})
                settlement = self.facilitator.settle(payload, terms)
                assert settlement.success, settlement
                self.transaction = settlement.transaction
            return answer(payload)

        seller = Seller(answered, (asked or demand(1000),))  # type: ignore[arg-type]
        client = self.buyers.client(seller, RULES, key=BUYER)
        try:
            client.get(f"/{len(self.buyers.rows())}")
        except httpx.ReadError:
            assert answer is lost

    def status(self) -> tuple[str, str, int | None]:
        """Return state, step and settled units of the newest purchase; also check the committed amounts."""
        row = max(self.buyers.rows(), key=lambda row: int(row.subject.rpartition("/")[2]))
        self.buyers.committed()
        return row.state, row.step, row.settled


@pytest.fixture
def shop(buyers: Buyers, world: World, sqlite: Callable[[], str]) -> Shop:
    return Shop(buyers, world, sqlite())


def lost(_: object) -> httpx.Response:
    raise httpx.ReadError("the connection broke")


def success(_: object) -> httpx.Response:
    return httpx.Response(200, headers=settled())


@pytest.mark.parametrize("asked", [demand(1000), over_permit2(1000), demand(1000, "upto")])
def test_unsettled_payment_is_released_once_its_end_is_final(shop: Shop, world: World, asked: object) -> None:
    shop.buy(lost, asked)
    world.finalize()
    assert (shop.reconciliation.run(BUYER.address).concluded, shop.status()) == (
        0,
        (PRESENTED, TxStatus.IDLE, None),
    )
    world.rpc("evm_increaseTime", hex(600))
    world.rpc("anvil_mine", "0x1")
    outcome = shop.reconciliation.run(BUYER.address)
    assert (outcome.concluded, outcome.open, shop.status()) == (
        0,
        1,
        (PRESENTED, TxStatus.IDLE, None),
    )  # past, but not final
    world.finalize()
    outcome = shop.reconciliation.run(BUYER.address)
    assert (outcome.concluded, outcome.open, shop.status()) == (1, 0, (RETURNED, Finality.FINAL, None))
    assert shop.buyers.day() == 0


@pytest.mark.parametrize("asked", [demand(1000), over_permit2(1000)])
@pytest.mark.parametrize("answer", [lost, refused])
def test_settled_payment_is_spent_despite_the_report_of_the_seller(
    shop: Shop, world: World, asked: object, answer: Answer
) -> None:
    shop.buy(answer, asked, settles=True)
    assert shop.status()[0] == (PRESENTED if answer is lost else RETURNED)
    assert shop.reconciliation.run(BUYER.address).concluded == 0
    world.finalize()
    assert shop.reconciliation.run(BUYER.address).concluded == 1
    assert shop.status() == (SPENT, Finality.FINAL, 1000)
    assert shop.buyers.day() == 1000
    assert shop.reconciliation.run(BUYER.address).concluded == 0


def test_success_report_without_settlement_is_released(shop: Shop, world: World) -> None:
    shop.buy(success)
    world.finalize()
    assert (shop.reconciliation.run(BUYER.address).open, shop.status()) == (
        1,
        (SPENT, Finality.PROVISIONAL, 1000),
    )
    world.finalize(600)
    assert shop.reconciliation.run(BUYER.address).concluded == 1
    assert shop.status() == (RETURNED, Finality.FINAL, None)


def test_payment_canceled_by_the_payer_is_released(shop: Shop, world: World) -> None:
    shop.buy(lost)
    nonce = shop.buyers.rows()[0].nonce
    signature = Cancellation(BUYER.address, nonce).sign(DOMAIN, bytes(BUYER.key))
    world.act(STRANGER, "cancelAuthorization(address,bytes32,bytes)", BUYER.address, nonce, signature)
    assert shop.reconciliation.run(BUYER.address).concluded == 0
    world.finalize()
    assert shop.reconciliation.run(BUYER.address).concluded == 1
    assert shop.status() == (RETURNED, Finality.FINAL, None)


@pytest.mark.parametrize(("blocks", "amounts"), [(1_999, [400, 500, 600, 700]), (2, [700, 1000, 1000, 1000])])
def test_chain_decides_the_amount_of_upto(
    shop: Shop, world: World, monkeypatch: pytest.MonkeyPatch, blocks: int, amounts: list[int]
) -> None:
    """Before the newest blocks, it needs the hash of the transaction, and each hash counts once."""
    monkeypatch.setattr(payment_status, "MAX_LOG_RANGE", blocks)
    asked = demand(1000, "upto")

    def cheaper(_: object) -> httpx.Response:
        return httpx.Response(200, headers=settled(transaction=shop.transaction, amount="1"))

    shop.buy(cheaper, asked, charged=700, settles=True)
    assert shop.status() == (SPENT, Finality.PROVISIONAL, 1)
    world.finalize()
    assert shop.reconciliation.run(BUYER.address).concluded == 1
    assert shop.status() == (SPENT, Finality.FINAL, 700)
    shop.buy(lost, asked, charged=600, settles=True)  # the transaction hash is unknown
    first = shop.transaction
    shop.buy(lambda _: httpx.Response(200, headers=settled(transaction=first, amount="1")), asked, 500, True)
    shop.buy(lambda _: httpx.Response(200, headers=settled(transaction=first, amount="1")), asked, 400, True)
    world.finalize()
    assert shop.reconciliation.run(BUYER.address).concluded == 3
    assert sorted(row.settled for row in shop.buyers.rows()) == amounts


def test_unsigned_reservation_is_released_after_a_timeout(shop: Shop) -> None:
    buyer = shop.buyers.buyer(RULES, key=BUYER)
    intent = PurchaseIntent(buyer.payer, "a", None, "GET /0", 1000)
    shop.buyers.purchases.reserve(RULES.offer(demand(1000)), intent)
    shop.buyers.now += 300
    assert shop.reconciliation.run(BUYER.address).concluded == 0
    shop.buyers.now += 1
    assert shop.reconciliation.run(BUYER.address).concluded == 1
    [row] = shop.buyers.rows()
    assert shop.buyers.triggers(row.id) == [Trigger.RESERVE, Trigger.UNSENT]
    assert shop.buyers.day() == 0


def test_unresponsive_nodes_are_named_and_change_nothing(shop: Shop) -> None:
    class Silent:
        def __getattr__(self, name: str) -> object:
            raise NoResponse("nobody is there")

    shop.buy(lost)
    [row] = shop.buyers.rows()
    silent = Reconciliation(shop.buyers.purchases, {NETWORK: Silent()})  # type: ignore[dict-item]
    outcome = silent.run(BUYER.address)
    assert (outcome.concluded, outcome.open, outcome.errors) == (0, 1, {row.id: "nobody is there"})
    assert Reconciliation(shop.buyers.purchases, {}).run(BUYER.address).open == 1
    assert shop.status() == (PRESENTED, TxStatus.IDLE, None)


def test_totals_equal_the_sums_of_the_purchases(shop: Shop) -> None:
    shop.buy(success)
    shop.buy(lost)
    shop.buy(refused)
    shop.buy(lambda _: httpx.Response(200, headers=settled(amount="300")), demand(1000, "upto"))
    [total] = totals(shop.buyers.database, BUYER.address)
    assert (total.session, total.asset) == ("a", USDC)
    assert (total.spent, total.reserved, total.returned, total.purchases) == (1300, 1000, 1700, 4)
    assert totals(shop.buyers.database, TOKEN) == []
    assert totals(shop.buyers.database) == [total]


def test_untrusted_seller_reports_cannot_exceed_the_buyers_cap(shop: Shop, world: World) -> None:
    rules = policy(per_session=2000, report_source=ReportSource.CHAIN)

    def lies(payload: PaymentPayload) -> httpx.Response:
        assert shop.facilitator.settle(payload, payload.accepted).success
        return refused(payload)

    client = shop.buyers.client(Seller(lies, (demand(1000),)), rules, key=BUYER)
    before = world.balance(BUYER.address)
    answers: list[int | None] = []
    for number in range(4):
        try:
            answers.append(client.get(f"/{number}").status_code)
        except PurchaseRejected as error:
            answers.append(error.refusals[0].committed)
    assert answers == [402, 402, 2000, 2000]
    assert world.balance(BUYER.address) == before - 2000


def test_spending_report_lists_purchases(shop: Shop, world: World) -> None:
    def run(*arguments: str) -> str:
        result = CliRunner().invoke(pay_group, ["spent", "--database", shop.buyers.url, *arguments])
        assert result.exit_code == 0, result.output
        return result.output

    assert run() == "no purchases\n"
    shop.buy(success)
    shop.buy(lost)
    day = shop.buyers.rows()[0].day
    heading = f"{'day':10}  session  {'network':12}  {'token':42}  spent  reserved  released  purchases"
    row = f"{day}  a        {NETWORK}  {TOKEN}   1000      1000         0          2"
    assert run() == f"{BUYER.address}\n  {heading}\n  {row}\n"
    assert run("--payer", TOKEN) == "no purchases\n"
    world.finalize(600)
    told = run("--node", world.url)
    assert told.startswith(f"querying {BUYER.address}: 0 of 2\n")
    assert f"\n{BUYER.address}: 2 concluded, 0 open\n" in told
    assert told.endswith("      0         0      2000          2\n")
    shop.buyers.url = "sqlite:////nowhere/buyer.db"
    result = CliRunner().invoke(pay_group, ["spent", "--database", shop.buyers.url])
    assert (result.exit_code, result.output) == (1, "Error: --database: file /nowhere/buyer.db does not exist\n")
    result = CliRunner().invoke(pay_group, ["spent", "--database", "nonsense"])
    assert result.output.startswith("Error: --database: Could not parse SQLAlchemy URL")


def test_a_foreseal_seller_reports_that_it_will_never_settle(
    buyers: Buyers, world: World, sqlite: Callable[[], str]
) -> None:
    """Its handler ended without a response: 409, and a URL to query."""
    buyers.now = int(time.time())
    selling = Selling(world, sqlite())
    buyer = buyers.buyer(RULES, key=BUYER)

    async def get() -> httpx.Response:
        transport = AsyncPayingTransport(buyer, httpx.ASGITransport(selling.app))
        async with httpx.AsyncClient(transport=transport, base_url=ORIGIN) as client:
            return await client.get("/crash")

    assert asyncio.run(get()).status_code == 409
    [row] = buyers.rows()
    assert (row.state, row.status_url) == (PRESENTED, f"{ORIGIN}/x402/payments/{payment_key(row).name}")

    def status(request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, content=selling.get(request.url.path).content)

    with httpx.Client(transport=httpx.MockTransport(status)) as sellers:
        reconciliation = Reconciliation(buyers.purchases, {}, sellers)
        assert reconciliation.run(BUYER.address).concluded == 0
        world.finalize(600)
        assert reconciliation.run(BUYER.address).concluded == 1
    [row] = buyers.rows()
    assert (row.state, row.step, buyers.day()) == (RETURNED, Finality.PROVISIONAL, 0)
