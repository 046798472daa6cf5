"""Settlements by the stock facilitator of x402 that share a block: concurrent ones, and ones with a stale nonce."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from x402 import x402FacilitatorSync
from x402.mechanisms.evm.exact import ExactEvmFacilitatorScheme
from x402.mechanisms.evm.signers import FacilitatorWeb3Signer
from x402.schemas import SettleResponse

from payments.x402.pairings.serving import sealed
from payments.x402.paying import demand, over_permit2, pay
from payments.x402.sdk_tests import recording
from payments.x402.world import BUYERS, FACILITATOR, NETWORK, SHOP, World, world

# The facilitator has no database.
pytestmark = pytest.mark.sqlite_only
AUTOMINE = ("--automine",)
INTERVALS = ("--block-time", "2s")
ONE_BLOCK = ("--block-time", "60s")


class LatestNonceSigner(FacilitatorWeb3Signer):
    """The signer with the nonces of x402 2.8: the transaction count at `latest`."""

    def _reserve_nonce(self) -> int:
        return int(self._w3.eth.get_transaction_count(FACILITATOR.address))


@pytest.fixture
def node(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with world(tmp_path_factory.mktemp("node"), *request.param) as made:
        # The stock facilitator reads allowances at `latest`.
        if request.param == INTERVALS:
            sealed(made)
        elif request.param == ONE_BLOCK:
            made.rpc("anvil_mine", "0x1")
        yield made
        made.close()


def facilitator(url: str, kind: type[FacilitatorWeb3Signer]) -> x402FacilitatorSync:
    signer = kind("0x" + bytes(FACILITATOR.key).hex(), url)
    stock = x402FacilitatorSync()
    stock.register([NETWORK], ExactEvmFacilitatorScheme(signer))
    return stock


@pytest.mark.parametrize("node", [INTERVALS, AUTOMINE], indirect=True, ids=["intervals", "automine"])
def test_concurrent_settlements_of_the_stock_facilitator_succeed(node: World) -> None:
    rejected: list[str] = []
    before = node.balance(SHOP.address)
    with recording(node.url, rejected) as url:
        settles = facilitator(url, FacilitatorWeb3Signer)

        def settle(number: int) -> SettleResponse:
            terms = over_permit2(1000) if number % 2 else demand(1000)
            return settles.settle(pay(BUYERS[number], terms), terms)

        with ThreadPoolExecutor(8) as pool:
            answers = list(pool.map(settle, range(16)))
    assert [answer.error_reason for answer in answers] == [None] * 16
    assert rejected == []
    assert len({answer.transaction for answer in answers}) == 16
    assert node.balance(SHOP.address) == before + 16_000


@pytest.mark.parametrize(
    ("node", "errors"),
    [(ONE_BLOCK, ["nonce too low"]), (AUTOMINE, [])],
    indirect=["node"],
    ids=["one-block", "automine"],
)
def test_nonce_from_latest_fails_only_within_a_block(node: World, errors: list[str]) -> None:
    rejected: list[str] = []
    with recording(node.url, rejected) as url:
        settles = facilitator(url, LatestNonceSigner)
        terms = demand(1000, max_timeout_seconds=3600)  # a mined block of 60 s moves the clock by as much
        answers = [settles.settle(pay(buyer, terms), terms) for buyer in BUYERS[:2]]
    assert [answer.success for answer in answers] == [True, not errors]
    assert rejected == errors
