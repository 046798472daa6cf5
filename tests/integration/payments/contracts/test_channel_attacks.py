"""Misused signatures of a channel: in other channels, contracts and chains, and after the money is gone."""

import pytest

from foreseal.payments.contracts import load
from payments.contracts import channels
from payments.contracts.channels import Channel, batch_signature, events
from payments.contracts.doubles import double
from payments.contracts.onchain import OnChain, deploy, refused
from payments.contracts.people import CHAIN_ID


@pytest.fixture
def elsewhere(channel: Channel) -> OnChain:
    """Return another settlement contract of the same code."""
    artifact = load("BatchSettlement")
    known = artifact.abi + channels.errors("DepositCollector")
    return deploy(channel.token.chain, channel.people.stranger.address, artifact.creation(), known)


@pytest.mark.parametrize(
    "change", [{"chainId": CHAIN_ID + 1}, {"verifyingContract": "0x" + "11" * 20}, {"version": "2"}, {"name": "x402"}]
)
def test_a_signature_holds_in_one_domain(
    channel: Channel, monkeypatch: pytest.MonkeyPatch, change: dict[str, object]
) -> None:
    channel.deposit(100)
    true = channel.id
    monkeypatch.setattr(channels, "DOMAIN", channels.DOMAIN | change)
    assert channel.id != true
    foreign, refund = channel.voucher(5, 5), channel.refund_signature(5, 0)
    batch = batch_signature(channel.people.other.key, [(true, 5, 5)])
    monkeypatch.undo()
    with refused("InvalidSignature()"):
        channel.claim(foreign)
    with refused("InvalidSignature()"):
        channel.send("refundWithSignature", channel.config, 5, 0, refund)
    with refused("InvalidSignature()"):
        channel.send("claimWithSignature", [channel.voucher(5, 5)], batch)
    assert channel.state == (100, 0)


def test_a_signature_holds_for_one_channel(channel: Channel) -> None:
    twin = channel.but(salt=b"\2" * 32)
    channel.deposit(100)
    twin.deposit(100)
    _, signature, _ = channel.voucher(5, 5)
    with refused("InvalidSignature()"):
        twin.claim(((twin.config, 5), signature, 5))
    with refused("InvalidSignature()"):
        channel.send("refundWithSignature", twin.config, 5, 0, channel.refund_signature(5, 0))
    # Other terms between the same parties, such as a shorter delay, are another channel.
    with refused("InvalidSignature()"):
        short = channel.but(withdrawDelay=901)
        short.deposit(100)
        short.claim(((short.config, 5), signature, 5))
    assert (channel.state, twin.state) == ((100, 0), (100, 0))


def test_voucher_of_another_contract_is_rejected(channel: Channel, elsewhere: OnChain) -> None:
    channel.deposit(100)
    shop = channel.people.merchant.address
    with refused("ClaimExceedsBalance()"):
        elsewhere.send(shop, "claim", [channel.voucher(5, 5)])
    collector = channels.addresses.ERC3009_DEPOSIT_COLLECTOR
    with refused("OnlyX402BatchSettlement()"):
        elsewhere.send(shop, "deposit", channel.config, 5, collector, b"")


def test_voucher_after_a_refund_cannot_exceed_the_balance(channel: Channel) -> None:
    shop, old = channel.people.merchant.address, channel.voucher(60, 60)
    channel.deposit(100)
    signature = channel.refund_signature(100, 0)
    channel.send("refundWithSignature", channel.config, 100, 0, signature)
    assert channel.state == (0, 0)
    with refused("ClaimExceedsBalance()"):
        channel.claim(old)
    with refused("InvalidRefundNonce()"):
        channel.send("refundWithSignature", channel.config, 100, 0, signature)
    channel.deposit(50, salt=2)
    with refused("ClaimExceedsBalance()"):
        channel.claim(old)
    channel.claim(channel.voucher(60, 50))
    # Vouchers cover the total ever claimed: the rest of the old one is 10, not 60.
    channel.deposit(100, salt=3)
    channel.claim(old)
    assert channel.state == (150, 60)
    assert events(channel.claim(channel.voucher(60, 60))) == []
    assert channel.contract.call("receivers", shop, channel.config[4]) == (60, 0)
    with refused("InvalidRefundNonce()"):
        channel.send("refundWithSignature", channel.config, 100, 0, signature)


def test_a_batch_that_is_submitted_again_claims_nothing(channel: Channel) -> None:
    channel.deposit(100)
    entries = [(channel.id, 9, 9), (channel.id, 9, 9), (channel.id, 7, 7)]
    claims = [channel.voucher(9, 9), channel.voucher(9, 9), channel.voucher(7, 7)]
    signature = batch_signature(channel.people.other.key, entries)
    for expected in (1, 0, 0):
        assert len(events(channel.send("claimWithSignature", claims, signature))) == expected
    assert channel.state == (100, 9)
    assert channel.contract.call("receivers", channel.people.merchant.address, channel.config[4]) == (9, 0)


def test_nested_deposit_is_rejected(channel: Channel) -> None:
    # Otherwise one transfer would be the deposit of two channels.
    chain, artifact = channel.token.chain, double("ReenteringCollector")
    collector = deploy(chain, channel.people.stranger.address, artifact.creation(), artifact.abi).address
    twin = channel.but(salt=b"\2" * 32)
    inner = channel.contract.data("deposit", *twin.deposit_arguments(100))
    for data in (inner, channel.contract.data("multicall", [inner])):
        with refused("ReentrancyGuardReentrantCall()"):
            channel.send("deposit", channel.config, 100, collector, data)
    assert (channel.state, twin.state) == ((0, 0), (0, 0))
    twin.deposit(100)
    assert twin.state == (100, 0)
