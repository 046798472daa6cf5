"""A batch on a node: its receipt proves the same before the block is sealed, afterwards, and after a reorganization."""

from collections.abc import Iterator

import pytest

from foreseal.payments.chain import RpcNode, Token
from foreseal.payments.chain.batch_capture import BatchOutcome, batch_capture_call, captured_in_batch
from foreseal.payments.typed_data import Domain, ReceiveAuthorization
from payments.fake.contracts import NAME, VERSION
from payments.people import BATCH_CAPTURE, BUYERS, SHOP
from payments.real.chain import RealChain, Sent
from payments.real.node import make_node_chain
from payments.shop import ADDRESS, FUNDS


@pytest.fixture
def chain() -> Iterator[RealChain]:
    """Provide a node whose buyers have tokens."""
    chain, _ = make_node_chain(40)
    chain.change(lambda state: state.balances.update({buyer.address.lower(): FUNDS for buyer in BUYERS}))
    yield chain
    chain.close()


def messages(*values: int, valid_before: int = 2_000_000_000) -> list[ReceiveAuthorization]:
    """Return an authorization of each buyer."""
    return [
        ReceiveAuthorization(buyer.address, BATCH_CAPTURE, value, 0, valid_before, bytes([value]) * 32)
        for buyer, value in zip(BUYERS, values, strict=False)
    ]


def capture(chain: RealChain, *batch: ReceiveAuthorization) -> Sent:
    domain = Domain(NAME, VERSION, chain.chain_id, ADDRESS)
    keys = {buyer.address: bytes(buyer.key) for buyer in BUYERS}
    signatures = [message.sign(domain, keys[message.payer]) for message in batch]
    return chain.inject(SHOP.address.lower(), BATCH_CAPTURE, batch_capture_call(batch, signatures))


class Client:
    """A JSON-RPC client of the chain."""

    def __init__(self, chain: RealChain) -> None:
        self.request = chain.rpc


def outcome(chain: RealChain, sent: Sent) -> BatchOutcome:
    receipt = RpcNode(Client(chain)).receipt(sent.hash)
    assert receipt is not None
    return captured_in_batch(receipt, ADDRESS, BATCH_CAPTURE, SHOP.address)


def proven(batch: BatchOutcome) -> tuple[list[tuple[tuple[str, bytes], int, int]], dict[tuple[str, bytes], str], int]:
    """Return what does not depend on the block."""
    captures = [(key, transfer.amount, transfer.position) for key, transfer in batch.captured.items()]
    return captures, {key: failed.reason for key, failed in batch.failed.items()}, batch.amount


def test_outcome_survives_sealing_and_reorganization(chain: RealChain) -> None:
    first, second, third = messages(5, 7, 11)
    (expired,) = messages(9, valid_before=1)
    sent = capture(chain, first, expired, second, third)
    chain.step()
    before = proven(outcome(chain, sent))
    assert before == (
        [((each.payer, each.nonce), each.value, at) for each, at in ((first, 1), (second, 4), (third, 6))],
        {(expired.payer, expired.nonce): "FiatTokenV2: authorization is expired"},
        23,
    )
    chain.mine()
    assert proven(outcome(chain, sent)) == before
    chain.reorganize(1)
    assert proven(outcome(chain, sent)) == before
    token = Token(RpcNode(Client(chain)), ADDRESS)
    assert (token.balance(SHOP.address, "latest"), token.balance(BATCH_CAPTURE, "latest")) == (23, 0)


def test_batch_with_too_little_gas_proves_nothing(chain: RealChain) -> None:
    """The same authorizations are captured later: a reverted batch uses none of them."""
    batch = messages(5, 7, 11) * 10
    sent = capture(chain, *batch)
    chain.mine()
    reverted = outcome(chain, sent)
    assert (reverted.captured, reverted.failed, reverted.amount) == ({}, {}, 0)
    again = capture(chain, *batch[:3])
    chain.mine()
    assert outcome(chain, again).amount == 23
