"""x402's payment channels: deposits, cumulative vouchers, claims, settlement, withdrawal and refund."""

from dataclasses import dataclass, field
from typing import Any

import pytest
from eth_abi.abi import encode
from eth_utils import keccak
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from foreseal.payments.contracts import addresses, load
from foreseal.testing import TestAccount
from payments.contracts.doubles import double
from payments.contracts.onchain import OnChain, Receipt, Reverted, deploy, refused
from payments.contracts.people import CHAIN_ID, TOKEN, People
from payments.contracts.signing import Authorization, Domain, sign_digest, typed_digest
from payments.contracts.slots import at

DEADLINE = 2_000_000_000
DELAY = 900
ZERO = "0x" + "00" * 20
# As x402's packages sign them.
DOMAIN = {
    "name": "x402 Batch Settlement",
    "version": "1",
    "chainId": CHAIN_ID,
    "verifyingContract": addresses.BATCH_SETTLEMENT,
}
CONFIG = (
    "address payer,address payerAuthorizer,address receiver,address receiverAuthorizer,address token,"
    "uint40 withdrawDelay,bytes32 salt"
)
ENTRY = "bytes32 channelId,uint128 maxClaimableAmount,uint128 totalClaimed"


@dataclass
class Channel:
    """A channel of the buyer to the merchant; the other account signs for the merchant."""

    contract: OnChain
    token: OnChain
    domain: Domain
    people: People
    changes: dict[str, Any] = field(default_factory=dict)

    @property
    def config(self) -> tuple:
        people = self.people
        terms = {
            "payer": people.buyer.address,
            "payerAuthorizer": people.buyer.address,
            "receiver": people.merchant.address,
            "receiverAuthorizer": people.other.address,
            "token": TOKEN,
            "withdrawDelay": DELAY,
            "salt": bytes(32),
        }
        return tuple((terms | self.changes).values())

    @property
    def id(self) -> bytes:
        names = [part.split()[1] for part in CONFIG.split(",")]
        message = dict(zip(names, self.config, strict=True))
        return typed_digest(DOMAIN, {"ChannelConfig": CONFIG}, "ChannelConfig", message)

    @property
    def state(self) -> tuple[int, int]:
        """Balance and what was claimed."""
        return self.contract.call("channels", self.id)

    def deposit(self, amount: int, salt: int = 1, signed: int | None = None, channel: bytes | None = None) -> Receipt:
        """Deposit by EIP-3009, with the salt of the authorization."""
        nonce = keccak(encode(["bytes32", "uint256"], [channel or self.id, salt]))
        payer, collector = self.people.buyer, addresses.ERC3009_DEPOSIT_COLLECTOR
        terms = Authorization(payer.address, collector, amount if signed is None else signed, 0, DEADLINE, nonce)
        signature = terms.signed(self.domain, payer.key, "ReceiveWithAuthorization").packed
        data = encode(["uint256", "uint256", "uint256", "bytes"], [0, DEADLINE, salt, signature])
        return self.send("deposit", self.config, amount, collector, data)

    def voucher(self, maximum: int, total: int, signer: TestAccount | None = None) -> tuple:
        """A claim of `total` by a voucher over `maximum`."""
        types = {"Voucher": "bytes32 channelId,uint128 maxClaimableAmount"}
        digest = typed_digest(DOMAIN, types, "Voucher", {"channelId": self.id, "maxClaimableAmount": maximum})
        signature = sign_digest((signer or self.people.buyer).key, digest).packed
        return ((self.config, maximum), signature, total)

    def refund_signature(self, amount: int, nonce: int) -> bytes:
        types = {"Refund": "bytes32 channelId,uint256 nonce,uint128 amount"}
        message = {"channelId": self.id, "nonce": nonce, "amount": amount}
        return sign_digest(self.people.other.key, typed_digest(DOMAIN, types, "Refund", message)).packed

    def send(self, name: str, *arguments: Any, sender: str | None = None) -> Receipt:
        return self.contract.send(sender or self.people.stranger.address, name, *arguments)

    def claim(self, *claims: tuple, sender: str | None = None) -> Receipt:
        return self.send("claim", list(claims), sender=sender or self.people.merchant.address)

    def but(self, **changes: Any) -> "Channel":
        """A channel with other terms."""
        return Channel(self.contract, self.token, self.domain, self.people, self.changes | changes)


def batch_signature(key: str, entries: list[tuple[bytes, int, int]]) -> bytes:
    """A signature over a batch of claims: channel, maximum and total of each."""
    names = ("channelId", "maxClaimableAmount", "totalClaimed")
    claims = [dict(zip(names, entry, strict=True)) for entry in entries]
    types = {"ClaimBatch": "ClaimEntry[] claims", "ClaimEntry": ENTRY}
    return sign_digest(key, typed_digest(DOMAIN, types, "ClaimBatch", {"claims": claims})).packed


@pytest.fixture
def channel(token: OnChain, domain: Domain, people: People) -> Channel:
    passed = [entry for name in ("Permit2", "DepositCollector") for entry in errors(name)]
    contract = OnChain(token.chain, addresses.BATCH_SETTLEMENT, [*load("BatchSettlement").abi, *passed])
    return Channel(contract, token, domain, people)


def errors(name: str) -> list[dict[str, Any]]:
    """The errors of what the settlement contract calls, which it passes on."""
    contract = "Permit2DepositCollector" if name == "DepositCollector" else name
    return [entry for entry in load(contract).abi if entry["type"] == "error"]


def events(receipt: Receipt) -> list[tuple[str, tuple]]:
    return [(log.event, log.values) for log in receipt.logs]


def test_ids_and_digests_are_those_that_clients_compute(channel: Channel) -> None:
    contract = channel.contract
    assert contract.call("getChannelId", channel.config) == "0x" + channel.id.hex()
    digest = typed_digest(
        DOMAIN,
        {"Voucher": "bytes32 channelId,uint128 maxClaimableAmount"},
        "Voucher",
        {"channelId": channel.id, "maxClaimableAmount": 7},
    )
    assert contract.call("getVoucherDigest", channel.id, 7) == "0x" + digest.hex()
    message = {"channelId": channel.id, "nonce": 3, "amount": 7}
    digest = typed_digest(DOMAIN, {"Refund": "bytes32 channelId,uint256 nonce,uint128 amount"}, "Refund", message)
    assert contract.call("getRefundDigest", channel.id, 3, 7) == "0x" + digest.hex()
    assert (contract.call("MIN_WITHDRAW_DELAY"), contract.call("MAX_WITHDRAW_DELAY")) == (900, 2_592_000)
    for name, type_ in {
        "CHANNEL_CONFIG_TYPEHASH": f"ChannelConfig({CONFIG})",
        "VOUCHER_TYPEHASH": "Voucher(bytes32 channelId,uint128 maxClaimableAmount)",
        "REFUND_TYPEHASH": "Refund(bytes32 channelId,uint256 nonce,uint128 amount)",
        "CLAIM_ENTRY_TYPEHASH": f"ClaimEntry({ENTRY})",
        "CLAIM_BATCH_TYPEHASH": f"ClaimBatch(ClaimEntry[] claims)ClaimEntry({ENTRY})",
    }.items():
        assert contract.call(name) == "0x" + keccak(text=type_).hex()


def test_a_deposit_fills_the_channel(channel: Channel) -> None:
    sender = channel.people.stranger.address
    (created, config), deposited = events(channel.deposit(100))
    assert (created, config[0]) == ("ChannelCreated", "0x" + channel.id.hex())
    assert deposited == ("Deposited", ("0x" + channel.id.hex(), sender, 100, 100))
    assert events(channel.deposit(50, salt=2)) == [("Deposited", ("0x" + channel.id.hex(), sender, 50, 150))]
    assert channel.state == (150, 0)
    assert channel.token.call("balanceOf", addresses.BATCH_SETTLEMENT) == 150
    assert channel.token.call("balanceOf", addresses.ERC3009_DEPOSIT_COLLECTOR) == 0
    with refused("FiatTokenV2: authorization is used or canceled"):
        channel.deposit(100)


def test_a_deposit_goes_to_the_channel_and_for_the_amount_that_were_signed(channel: Channel) -> None:
    with refused("FiatTokenV2: invalid signature"):
        channel.deposit(100, signed=50)
    with refused("FiatTokenV2: invalid signature"):
        channel.but(salt=b"\1" * 32).deposit(100, channel=channel.id)


def test_what_is_no_channel_gets_no_deposit(channel: Channel) -> None:
    for name in ("payer", "receiver", "receiverAuthorizer", "token"):
        with refused("InvalidChannel()"):
            channel.but(**{name: ZERO}).deposit(1)
    for delay in (899, 2_592_001):
        with refused("WithdrawDelayOutOfRange()"):
            channel.but(withdrawDelay=delay).deposit(1)
    with refused("ZeroDeposit()"):
        channel.deposit(0)
    with refused("InvalidCollector()"):
        channel.send("deposit", channel.config, 1, ZERO, b"")
    for contract, address in (
        ("Erc3009DepositCollector", addresses.ERC3009_DEPOSIT_COLLECTOR),
        ("Permit2DepositCollector", addresses.PERMIT2_DEPOSIT_COLLECTOR),
    ):
        collector = OnChain(channel.token.chain, address, load(contract).abi)
        assert collector.call("x402BatchSettlement") == addresses.BATCH_SETTLEMENT.lower()
        with refused("OnlyX402BatchSettlement()"):
            collector.send(channel.people.stranger.address, "collect", ZERO, TOKEN, 1, bytes(32), b"")


def permit2_deposit(channel: Channel, amount: int, permit: bytes = b"", nonce: int = 1) -> Receipt:
    """A deposit over Permit2, signed with the channel as witness."""
    types = {
        "PermitWitnessTransferFrom": (
            "TokenPermissions permitted,address spender,uint256 nonce,uint256 deadline,DepositWitness witness"
        ),
        "TokenPermissions": "address token,uint256 amount",
        "DepositWitness": "bytes32 channelId",
    }
    message = {
        "permitted": {"token": TOKEN, "amount": amount},
        "spender": addresses.PERMIT2_DEPOSIT_COLLECTOR,
        "nonce": nonce,
        "deadline": DEADLINE,
        "witness": {"channelId": channel.id},
    }
    domain = {"name": "Permit2", "chainId": CHAIN_ID, "verifyingContract": addresses.PERMIT2}
    digest = typed_digest(domain, types, "PermitWitnessTransferFrom", message)
    signature = sign_digest(channel.people.buyer.key, digest).packed
    data = encode(["uint256", "uint256", "bytes", "bytes"], [nonce, DEADLINE, signature, permit])
    return channel.send("deposit", channel.config, amount, addresses.PERMIT2_DEPOSIT_COLLECTOR, data)


def test_a_deposit_over_permit2(channel: Channel) -> None:
    buyer = channel.people.buyer
    with refused("TRANSFER_FROM_FAILED"):
        permit2_deposit(channel, 100)
    terms = {"owner": buyer.address, "spender": addresses.PERMIT2, "value": 100, "nonce": 0, "deadline": DEADLINE}
    v, r, s = channel.domain.sign(buyer.key, "Permit", **terms)
    kinds = ["uint256", "uint256", "uint8", "bytes32", "bytes32"]
    with refused("Permit2612AmountMismatch()"):
        permit2_deposit(channel, 100, encode(kinds, [99, DEADLINE, v, r, s]))
    permit = encode(kinds, [100, DEADLINE, v, r, s])
    with channel.token.chain.rollback():
        permit2_deposit(channel, 100, permit)
        assert channel.state == (100, 0)
        with refused("InvalidNonce()"):
            permit2_deposit(channel, 100)
    # A permit that somebody else submitted first is logged, and the deposit goes on.
    arguments = (buyer.address, addresses.PERMIT2, 100, DEADLINE, v, r, s)
    channel.token.send(channel.people.stranger.address, "permit", *arguments)
    receipt = permit2_deposit(channel, 100, permit)
    collector = OnChain(channel.token.chain, addresses.PERMIT2_DEPOSIT_COLLECTOR, load("Permit2DepositCollector").abi)
    assert [log.event for log in collector.explain(receipt.raw_logs)] == ["EIP2612PermitFailedWithReason"]
    assert channel.state == (100, 0)
    text = "DepositWitness witness)DepositWitness(bytes32 channelId)TokenPermissions(address token,uint256 amount)"
    assert collector.call("DEPOSIT_WITNESS_TYPE_STRING") == text
    assert collector.call("PERMIT2") == addresses.PERMIT2.lower()


def test_twenty_vouchers_one_claim_and_a_stale_one_changes_nothing(channel: Channel) -> None:
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


def test_without_an_authorizer_the_payer_signs_be_it_a_wallet(channel: Channel) -> None:
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
    # The receiver claims in the meantime, and what is left is less than what was asked for.
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
    # What was asked for is less by what was given.
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
    # Nothing is left: the nonce is used up all the same.
    assert events(channel.send("refund", channel.config, 1, sender=shop)) == []
    assert channel.contract.call("refundNonce", channel.id) == 3


def test_an_empty_channel_is_closed(channel: Channel) -> None:
    channel.deposit(100)
    receipt = channel.send("refund", channel.config, 100, sender=channel.people.merchant.address)
    assert [name for name, _ in events(receipt)] == ["Refunded", "ChannelClosed"]
    assert [name for name, _ in events(channel.deposit(5, salt=2))] == ["ChannelCreated", "Deposited"]


def test_a_claim_and_a_refund_in_one(channel: Channel) -> None:
    """As the facilitators of x402's packages send them."""
    channel.deposit(100)
    claims = [channel.voucher(30, 30)]
    signed = batch_signature(channel.people.other.key, [(channel.id, 30, 30)])
    claim = channel.contract.data("claimWithSignature", claims, signed)
    refund = channel.contract.data("refundWithSignature", channel.config, 70, 0, channel.refund_signature(70, 0))
    receipt = channel.send("multicall", [claim, refund])
    assert [name for name, _ in events(receipt)] == ["Claimed", "Refunded"]
    assert channel.state == (30, 30)


def test_a_collector_that_brings_less_is_refused(channel: Channel) -> None:
    people, chain = channel.people, channel.token.chain
    trick = deploy(chain, people.stranger.address, double("TrickToken").creation(), double("TrickToken").abi)
    trick.send(people.stranger.address, "mint", people.buyer.address, 100)
    trick.send(people.buyer.address, "approve", addresses.PERMIT2, 100)
    # A contract that has no `collect`, and one that does nothing when it is called.
    with pytest.raises(Reverted):
        channel.send("deposit", channel.config, 5, trick.address, b"")
    chain.rpc("anvil_setCode", people.minter.address, "0x00")
    with refused("DepositCollectionFailed()"):
        channel.send("deposit", channel.config, 5, people.minter.address, b"")


def test_its_storage(channel: Channel) -> None:
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
def test_whatever_is_done_the_contract_has_what_it_owes(channel: Channel, actions: list[tuple]) -> None:
    """Against a ledger in Python: what is in the channel, and what the receiver is still to be paid."""
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
