"""Our buyer and payment channels, with the package's seller: deposits count as spending, vouchers do not."""

from collections.abc import Callable, Iterator

import httpx
import pytest
from eth_account.signers.local import LocalAccount
from x402.mechanisms.evm.signers import EthAccountSignerWithRPC

from foreseal.payments.contracts.addresses import BATCH_SETTLEMENT
from foreseal.payments.ledger import PurchaseState
from foreseal.payments.x402.buyer import OutcomeUnknown, PayingTransport, PurchaseRejected, Rule
from foreseal.payments.x402.buyer.reconciliation import Reconciliation
from payments.x402.buyers import Buyers, policy
from payments.x402.pairings.facilitators import FACILITATORS
from payments.x402.pairings.prices import CHANNEL
from payments.x402.pairings.servers import SERVERS
from payments.x402.pairings.serving import sealed
from payments.x402.world import BUYERS, NETWORK, World

RULES = policy(per_request=CHANNEL.amount, per_session=1500, per_day=1500, deposit=500)
Fetch = Callable[..., httpx.Response]
# The table tests run on the other database.
pytestmark = pytest.mark.sqlite_only


@pytest.fixture(scope="module")
def shop(node_of_x402: World, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("shop")
    with FACILITATORS["ours"](node_of_x402, folder) as settles, SERVERS["python"](node_of_x402, settles, folder) as url:
        yield url + CHANNEL.path


class Losing(httpx.BaseTransport):
    """A transport that loses the response to a payment on command."""

    def __init__(self) -> None:
        self.within = httpx.HTTPTransport()
        self.loses = False

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        response = self.within.handle_request(request)
        if self.loses and "PAYMENT-SIGNATURE" in request.headers:
            response.close()
            raise httpx.ReadError("the connection broke")
        return response

    def close(self) -> None:
        self.within.close()


@pytest.fixture
def line() -> Iterator[Losing]:
    made = Losing()
    yield made
    made.close()


def fetch(buyers: Buyers, line: Losing, url: str, key: object, rules: object = RULES) -> httpx.Response:
    buyer = buyers.buyer(rules, key=key)  # type: ignore[arg-type]
    return httpx.Client(transport=PayingTransport(buyer, line), timeout=30).get(url)


def reading(key: LocalAccount, world: World) -> EthAccountSignerWithRPC:
    """Return a signer that can read the channel."""
    return EthAccountSignerWithRPC(key, world.url)


def test_deposits_are_remembered_across_restarts(shop: str, buyers: Buyers, line: Losing, world: World) -> None:
    key, deposits = BUYERS[10], world.balance(BATCH_SETTLEMENT)
    counts = []
    for number in range(15):
        if number in (3, 8):
            buyers.restart()
        assert fetch(buyers, line, shop, key).status_code == 200
        counts.append(buyers.day())
    assert counts == [500] * 5 + [1000] * 5 + [1500] * 5
    assert buyers.states() == [PurchaseState.SPENT] * 15
    assert sorted(row.amount for row in buyers.rows()) == [0] * 12 + [500] * 3
    with pytest.raises(PurchaseRejected, match=r"per session: 500 units .* 1500 of 1500"):
        fetch(buyers, line, shop, key)
    assert world.balance(BATCH_SETTLEMENT) == deposits + 1500


@pytest.mark.parametrize(("deposit", "asked"), [(0, None), (99, 100)])
def test_deposit_has_a_separate_cap(shop: str, buyers: Buyers, line: Losing, deposit: int, asked: int | None) -> None:
    with pytest.raises(PurchaseRejected, match="per deposit: ") as caught:
        fetch(buyers, line, shop, BUYERS[11], policy(deposit=deposit))
    [refusal] = caught.value.refusals
    assert (refusal.rule, refusal.requested, refusal.cap) == (Rule.PER_DEPOSIT, asked, deposit)
    assert buyers.rows() == []


def test_a_voucher_with_a_lost_response_blocks_no_payment(
    shop: str, buyers: Buyers, line: Losing, world: World
) -> None:
    """The seller charged it and reports so: the next voucher is signed for both."""
    signer = reading(BUYERS[12], world)
    assert fetch(buyers, line, shop, signer).status_code == 200
    sealed(world)  # otherwise the package's signer would see an empty channel and deposit again
    line.loses = True
    with pytest.raises(httpx.ReadError):
        fetch(buyers, line, shop, signer)
    line.loses = False
    assert [fetch(buyers, line, shop, signer).status_code for _ in range(3)] == [200] * 3
    # The seller rejected the outdated voucher, and a new one replaced it.
    assert buyers.states() == [PurchaseState.PRESENTED, PurchaseState.RETURNED] + [PurchaseState.SPENT] * 4
    assert buyers.day() == 500


def test_deposit_with_a_lost_response_is_not_repeated(shop: str, buyers: Buyers, line: Losing, world: World) -> None:
    signer = reading(BUYERS[13], world)
    deposits = world.balance(BATCH_SETTLEMENT)
    line.loses = True
    with pytest.raises(httpx.ReadError):
        fetch(buyers, line, shop, signer)
    line.loses = False
    reconciliation = Reconciliation(buyers.purchases, {NETWORK: world.node()})
    sealed(world)
    with world.rollback():
        world.finalize()
        assert reconciliation.run(BUYERS[13].address).concluded == 1
    assert buyers.states() == [PurchaseState.SPENT]
    assert fetch(buyers, line, shop, signer).status_code == 200
    assert buyers.day() == 500
    assert world.balance(BATCH_SETTLEMENT) == deposits + 500


def test_nothing_is_deposited_while_a_deposit_is_open(shop: str, buyers: Buyers, line: Losing) -> None:
    """Without access to the chain, the signer cannot determine the channel's balance."""
    line.loses = True
    with pytest.raises(httpx.ReadError):
        fetch(buyers, line, shop, BUYERS[14])
    line.loses = False
    with pytest.raises(OutcomeUnknown, match=f"for GET {shop} was presented"):
        fetch(buyers, line, f"{shop}?other", BUYERS[14])
    assert buyers.day() == 500


def test_buyer_with_a_lost_database_resumes_its_channel(
    shop: str, buyers: Buyers, line: Losing, world: World, sqlite: Callable[[], str]
) -> None:
    signer = reading(BUYERS[15], world)
    for _ in range(2):
        assert fetch(buyers, line, shop, signer).status_code == 200
    sealed(world)
    new = Buyers(sqlite())
    try:
        assert fetch(new, line, shop, signer).status_code == 200
        assert new.day() == 0
    finally:
        new.close()
