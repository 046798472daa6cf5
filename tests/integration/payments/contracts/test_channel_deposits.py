"""x402's payment channels: their ids, and deposits by EIP-3009 and over Permit2."""

import pytest
from eth_abi.abi import encode
from eth_utils import keccak

from foreseal.payments.contracts import addresses, load
from payments.contracts.channels import (
    CONFIG,
    DEADLINE,
    DOMAIN,
    ENTRY,
    ZERO,
    Channel,
    events,
    permit2_deposit,
)
from payments.contracts.doubles import double
from payments.contracts.onchain import OnChain, Reverted, deploy, refused
from payments.contracts.people import TOKEN
from payments.contracts.signing import typed_digest


def test_ids_and_digests_equal_those_of_clients(channel: Channel) -> None:
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


def test_deposit_needs_the_signed_channel_and_amount(channel: Channel) -> None:
    with refused("FiatTokenV2: invalid signature"):
        channel.deposit(100, signed=50)
    with refused("FiatTokenV2: invalid signature"):
        channel.but(salt=b"\1" * 32).deposit(100, channel=channel.id)


def test_deposit_into_an_invalid_channel_is_rejected(channel: Channel) -> None:
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


def test_deposit_over_permit2_fills_the_channel(channel: Channel) -> None:
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
    # If a third party submitted the permit first, a log reports it and the deposit continues.
    arguments = (buyer.address, addresses.PERMIT2, 100, DEADLINE, v, r, s)
    channel.token.send(channel.people.stranger.address, "permit", *arguments)
    receipt = permit2_deposit(channel, 100, permit)
    collector = OnChain(channel.token.chain, addresses.PERMIT2_DEPOSIT_COLLECTOR, load("Permit2DepositCollector").abi)
    assert [log.event for log in collector.explain(receipt.raw_logs)] == ["EIP2612PermitFailedWithReason"]
    assert channel.state == (100, 0)
    text = "DepositWitness witness)DepositWitness(bytes32 channelId)TokenPermissions(address token,uint256 amount)"
    assert collector.call("DEPOSIT_WITNESS_TYPE_STRING") == text
    assert collector.call("PERMIT2") == addresses.PERMIT2.lower()


def test_collector_that_delivers_too_little_is_rejected(channel: Channel) -> None:
    people, chain = channel.people, channel.token.chain
    trick = deploy(chain, people.stranger.address, double("TrickToken").creation(), double("TrickToken").abi)
    trick.send(people.stranger.address, "mint", people.buyer.address, 100)
    trick.send(people.buyer.address, "approve", addresses.PERMIT2, 100)
    # A contract without `collect`, and one whose `collect` does nothing.
    with pytest.raises(Reverted):
        channel.send("deposit", channel.config, 5, trick.address, b"")
    chain.rpc("anvil_setCode", people.minter.address, "0x00")
    with refused("DepositCollectionFailed()"):
        channel.send("deposit", channel.config, 5, people.minter.address, b"")
