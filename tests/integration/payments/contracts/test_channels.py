"""x402's payment channels: cumulative vouchers, claims, settlement, withdrawal and refund."""

from eth_abi.abi import encode
from eth_utils import keccak
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from foreseal.payments.contracts import addresses
from payments.contracts.channels import (
    DEADLINE,
    DELAY,
    ZERO,
    Channel,
    batch_signature,
    events,
)
from payments.contracts.doubles import double
from payments.contracts.onchain import deploy, refused
from payments.contracts.people import TOKEN
from payments.contracts.signing import Authorization
from payments.contracts.slots import at


def test_one_claim_settles_twenty_vouchers_and_ignores_a_stale_one(channel: Channel) -> None:
    channel.deposit(100)
    vouchers = [channel.voucher(5 * count, 5 * count) for count in range(1, 21)]
    shop = channel.people.merchant.address
    assert events(channel.claim(vouchers[-1])) == [("Claimed", ("0x" + channel.id.hex(), shop, 100, 100))]
    for stale in (vouchers[3], vouchers[-1]):
        assert events(channel.claim(stale)) == []
    assert channel.state == (100, 100)
    assert channel.contract.call("receivers", shop, TOKEN) == (100, 0)
    receipt = channel.send("settle", shop, TOKEN)
    sender = channel.people.stranger.address
    assert events(receipt) == [("Settled", (shop, TOKEN.lower(), sender, 100))]
    assert channel.token.call("balanceOf", shop) == 100
    assert channel.contract.call("receivers", shop, TOKEN) == (100, 100)
    assert events(channel.send("settle", shop, TOKEN)) == []


def test_a_claim_is_bounded_by_voucher_and_balance(channel: Channel) -> None:
    channel.deposit(100)
    with refused("ClaimExceedsCeiling()"):
        channel.claim(channel.voucher(50, 51))
    with refused("ClaimExceedsBalance()"):
        channel.claim(channel.voucher(101, 101))
    with refused("InvalidSignature()"):
        channel.claim(channel.voucher(50, 50, signer=channel.people.other))
    voucher, _, total = channel.voucher(50, 50)
    with refused("InvalidSignature()"):
        channel.claim((voucher, channel.voucher(49, 49)[1], total))
    channel.claim(channel.voucher(50, 20))
    channel.claim(channel.voucher(50, 50))
    assert channel.state == (100, 50)


def test_the_receiving_side_claims_or_signs(channel: Channel) -> None:
    people = channel.people
    channel.deposit(100)
    for sender in (people.stranger.address, people.buyer.address):
        with refused("NotAuthorizedToClaim()"):
            channel.claim(channel.voucher(5, 5), sender=sender)
    channel.claim(channel.voucher(5, 5), sender=people.other.address)
    for name, given_ in (("claim", ([],)), ("claimWithSignature", ([], b""))):
        with refused("EmptyBatch()"):
            channel.send(name, *given_, sender=people.merchant.address)
    second = channel.but(salt=b"\2" * 32)
    second.deposit(100)
    claims = [channel.voucher(9, 9), second.voucher(7, 6)]
    entries = [(channel.id, 9, 9), (second.id, 7, 6)]
    with refused("InvalidSignature()"):
        channel.send("claimWithSignature", claims, batch_signature(people.merchant.key, entries))
    with refused("InvalidSignature()"):
        channel.send("claimWithSignature", claims[:1], batch_signature(people.other.key, entries))
    foreign = channel.but(receiverAuthorizer=people.minter.address)
    mixed = [channel.voucher(9, 9), foreign.voucher(7, 6)]
    signature = batch_signature(people.other.key, [(channel.id, 9, 9), (foreign.id, 7, 6)])
    with refused("NotReceiverAuthorizer()"):
        channel.send("claimWithSignature", mixed, signature)
    channel.send("claimWithSignature", claims, batch_signature(people.other.key, entries))
    assert (channel.state, second.state) == ((100, 9), (100, 6))
    assert channel.contract.call("receivers", people.merchant.address, TOKEN) == (15, 0)


def test_channel_without_authorizer_accepts_the_payer_or_its_wallet(channel: Channel) -> None:
    people, artifact = channel.people, double("Wallet")
    wallet = deploy(channel.token.chain, people.stranger.address, artifact.creation(people.buyer.address), artifact.abi)
    channel.token.send(people.buyer.address, "transfer", wallet.address, 100)
    paid = channel.but(payer=wallet.address, payerAuthorizer=ZERO)
    nonce = keccak(encode(["bytes32", "uint256"], [paid.id, 1]))
    terms = Authorization(wallet.address, addresses.ERC3009_DEPOSIT_COLLECTOR, 100, 0, DEADLINE, nonce)
    signature = terms.signed(channel.domain, people.buyer.key, "ReceiveWithAuthorization").packed
    data = encode(["uint256", "uint256", "uint256", "bytes"], [0, DEADLINE, 1, signature])
    channel.send("deposit", paid.config, 100, addresses.ERC3009_DEPOSIT_COLLECTOR, data)
    with refused("InvalidSignature()"):
        paid.claim(paid.voucher(5, 5, signer=people.other))
    paid.claim(paid.voucher(5, 5))
    assert paid.state == (100, 5)


def test_the_payer_withdraws_after_the_delay(channel: Channel) -> None:
    buyer, chain = channel.people.buyer.address, channel.token.chain
    channel.deposit(100)
    with refused("InvalidChannel()"):
        channel.send("initiateWithdraw", channel.config, 10)
    with refused("NothingToWithdraw()"):
        channel.send("initiateWithdraw", channel.config, 0, sender=buyer)
    with refused("WithdrawAmountExceedsAvailable()"):
        channel.send("initiateWithdraw", channel.config, 101, sender=buyer)
    with refused("WithdrawalNotPending()"):
        channel.send("finalizeWithdraw", channel.config, sender=buyer)
    receipt = channel.send("initiateWithdraw", channel.config, 80, sender=buyer)
    began = int(chain.rpc("eth_getBlockByNumber", hex(receipt.block), False)["timestamp"], 16)
    assert events(receipt) == [("WithdrawInitiated", ("0x" + channel.id.hex(), 80, began + DELAY))]
    assert channel.contract.call("pendingWithdrawals", channel.id) == (80, began)
    with refused("WithdrawalAlreadyPending()"):
        channel.send("initiateWithdraw", channel.config, 1, sender=buyer)
    # The receiver claims in the meantime, so the balance is less than the requested amount.
    channel.claim(channel.voucher(30, 30))
    chain.rpc("evm_setNextBlockTimestamp", began + DELAY - 1)
    with refused("WithdrawDelayNotElapsed()"):
        channel.send("finalizeWithdraw", channel.config, sender=buyer)
    with refused("NotAuthorizedToFinalizeWithdraw()"):
        channel.send("finalizeWithdraw", channel.config)
    chain.rpc("evm_setNextBlockTimestamp", began + DELAY)
    before = channel.token.call("balanceOf", buyer)
    receipt = channel.send("finalizeWithdraw", channel.config, sender=buyer)
    assert events(receipt) == [("WithdrawFinalized", ("0x" + channel.id.hex(), buyer, 70))]
    assert (channel.state, channel.token.call("balanceOf", buyer)) == ((30, 30), before + 70)
    assert channel.contract.call("pendingWithdrawals", channel.id) == (0, 0)


def test_the_receiving_side_refunds(channel: Channel) -> None:
    people, anybody = channel.people, channel.people.stranger.address
    channel.deposit(100)
    channel.claim(channel.voucher(30, 30))
    channel.send("initiateWithdraw", channel.config, 50, sender=people.buyer.address)
    with refused("NotAuthorizedToRefund()"):
        channel.send("refund", channel.config, 10, sender=people.buyer.address)
    with refused("ZeroRefund()"):
        channel.send("refund", channel.config, 0, sender=people.merchant.address)
    shop = people.merchant.address
    assert events(channel.send("refund", channel.config, 10, sender=shop)) == [
        ("Refunded", ("0x" + channel.id.hex(), shop, 10))
    ]
    # The requested amount decreases by the refunded amount.
    assert channel.contract.call("pendingWithdrawals", channel.id)[0] == 40
    signature = channel.refund_signature(999, 1)
    with refused("InvalidRefundNonce()"):
        channel.send("refundWithSignature", channel.config, 999, 0, signature)
    with refused("InvalidSignature()"):
        channel.send("refundWithSignature", channel.config, 998, 1, signature)
    receipt = channel.send("refundWithSignature", channel.config, 999, 1, signature)
    assert events(receipt) == [("Refunded", ("0x" + channel.id.hex(), anybody, 60))]
    assert channel.state == (30, 30)
    assert channel.contract.call("pendingWithdrawals", channel.id) == (0, 0)
    # The balance is empty, but the nonce is used up all the same.
    assert events(channel.send("refund", channel.config, 1, sender=shop)) == []
    assert channel.contract.call("refundNonce", channel.id) == 3


def test_an_empty_channel_is_closed(channel: Channel) -> None:
    channel.deposit(100)
    receipt = channel.send("refund", channel.config, 100, sender=channel.people.merchant.address)
    assert [name for name, _ in events(receipt)] == ["Refunded", "ChannelClosed"]
    assert [name for name, _ in events(channel.deposit(5, salt=2))] == ["ChannelCreated", "Deposited"]


def test_claim_and_refund_run_in_one_call(channel: Channel) -> None:
    """The call has the form that the facilitators of x402's packages send."""
    channel.deposit(100)
    claims = [channel.voucher(30, 30)]
    signed = batch_signature(channel.people.other.key, [(channel.id, 30, 30)])
    claim = channel.contract.data("claimWithSignature", claims, signed)
    refund = channel.contract.data("refundWithSignature", channel.config, 70, 0, channel.refund_signature(70, 0))
    receipt = channel.send("multicall", [claim, refund])
    assert [name for name, _ in events(receipt)] == ["Claimed", "Refunded"]
    assert channel.state == (30, 30)


def test_channel_storage_layout_is_stable(channel: Channel) -> None:
    people, shop = channel.people, channel.people.merchant.address
    channel.deposit(100)
    channel.claim(channel.voucher(30, 30))
    channel.send("refund", channel.config, 10, sender=shop)
    receipt = channel.send("initiateWithdraw", channel.config, 50, sender=people.buyer.address)
    began = int(channel.token.chain.rpc("eth_getBlockByNumber", hex(receipt.block), False)["timestamp"], 16)
    contract = channel.contract
    assert contract.storage(at(0, channel.id)) == 30 << 128 | 90
    assert contract.storage(at(1, channel.id)) == 1
    assert contract.storage(at(2, channel.id)) == began << 128 | 50
    assert contract.storage(at(3, shop, TOKEN)) == 30


ACTIONS = st.lists(
    st.tuples(
        st.sampled_from(["deposit", "claim", "settle", "refund", "ask", "withdraw"]),
        st.integers(1, 60),
        st.integers(0, 60),
    ),
    min_size=1,
    max_size=10,
)


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(actions=ACTIONS)
def test_the_contract_is_always_solvent(channel: Channel, actions: list[tuple]) -> None:
    """Compare with a ledger in Python: the channel's balance, and the receiver's unpaid claims."""
    buyer, shop, chain = channel.people.buyer.address, channel.people.merchant.address, channel.token.chain
    balance = claimed = settled = asked = 0
    with chain.rollback():
        for turn, (action, amount, slack) in enumerate(actions):
            if action == "deposit":
                channel.deposit(amount, salt=turn)
                balance += amount
            elif action == "claim":
                if claimed < amount and amount > balance:
                    with refused("ClaimExceedsBalance()"):
                        channel.claim(channel.voucher(amount + slack, amount))
                else:
                    channel.claim(channel.voucher(amount + slack, amount))
                    claimed = max(claimed, amount)
            elif action == "settle":
                channel.send("settle", shop, TOKEN)
                settled = claimed
            elif action == "refund":
                channel.send("refund", channel.config, amount, sender=shop)
                given_back = min(amount, balance - claimed)
                balance -= given_back
                asked = max(0, asked - given_back)
            elif action == "ask" and not asked and amount <= balance - claimed:
                channel.send("initiateWithdraw", channel.config, amount, sender=buyer)
                asked = amount
            elif action == "withdraw" and asked:
                chain.advance(DELAY)
                channel.send("finalizeWithdraw", channel.config, sender=buyer)
                balance -= min(asked, balance - claimed)
                asked = 0
            assert channel.state == (balance, claimed)
            assert channel.contract.call("pendingWithdrawals", channel.id)[0] == asked
            assert channel.token.call("balanceOf", addresses.BATCH_SETTLEMENT) == balance - settled
            assert channel.token.call("balanceOf", shop) == settled
