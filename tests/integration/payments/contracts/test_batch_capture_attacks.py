"""Attacks on a batch: payers that burn gas or return large data, too little gas, and tokens that misbehave."""

from collections.abc import Callable

import pytest

from foreseal.codec import keccak
from foreseal.errors import RpcError
from foreseal.payments.chain.batch_capture import max_batch_gas
from foreseal.payments.contracts import load
from foreseal.testing import TestAccount
from payments.contracts.batches import CAPTURE, WALLETS, Batches
from payments.contracts.doubles import double
from payments.contracts.onchain import OnChain, Receipt, Reverted, deploy, refused
from payments.contracts.people import People
from payments.contracts.signing import Domain

CALL_GAS = 200_000
# Costs of a capture outside of the call to the token: encoding, the check of the gas, a report with its reason.
OWN_COSTS = 12_000
WALLET = {"BurnGas": 1, "ReturnBomb": 2, "RevertBomb": 3, "SpendGas": 4, "CountGas": 5}
TOKEN = {
    "RevertBytes": 1,
    "ReturnBytes": 2,
    "BurnGas": 3,
    "MoveNothing": 4,
    "KeepFee": 5,
    "AddUnit": 6,
    "Reenter": 7,
    "ReturnFalse": 8,
    "TransferNothing": 9,
    "TransferTwice": 10,
    "TransferReturnNothing": 11,
}
GUARDED = "0x" + keccak(b"ReentrancyGuardReentrantCall()")[:4].hex()
NOT_MERCHANT = "0x" + keccak(b"NotMerchant()")[:4].hex()


@pytest.fixture
def batches(token: OnChain, domain: Domain, people: People) -> Batches:
    return Batches(token, domain, people)


@pytest.fixture
def wallet(token: OnChain, people: People) -> OnChain:
    """Return a wallet with tokens that accepts any signature, until it attacks."""
    artifact = double("HostileWallet")
    wallet = deploy(token.chain, people.stranger.address, artifact.creation(), artifact.abi)
    token.send(people.buyer.address, "transfer", wallet.address, 1000)
    return wallet


@pytest.fixture
def hostile(token: OnChain, domain: Domain, people: People) -> Batches:
    """Return a batch capture for a hostile token, of which the buyer has 1000 units."""
    artifact = double("HostileToken")
    made = deploy(token.chain, people.stranger.address, artifact.creation(), artifact.abi)
    made.send(people.stranger.address, "mint", people.buyer.address, 1000)
    return Batches(made, domain, people)


def play(contract: OnChain, sender: str, attack: int, *arguments: object) -> None:
    contract.send(sender, "play", attack, *arguments)


def account(wallet: OnChain) -> TestAccount:
    return TestAccount(wallet.address, "")


def attempt(batches: Batches, send: Callable[[int], Receipt], gas: int) -> Receipt | None:
    """Return the receipt of a transaction with a gas limit, without its effects. None if the transaction reverts."""
    with batches.token.chain.rollback():
        try:
            return send(gas)
        except (Reverted, RpcError):
            return None


def lowest_gas(batches: Batches, send: Callable[[int], Receipt], low: int, high: int) -> int:
    """Return the lowest gas limit between two with which a transaction does not revert."""
    assert attempt(batches, send, low) is None
    assert attempt(batches, send, high) is not None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if attempt(batches, send, middle) is None else (low, middle)
    return high


def test_each_call_receives_the_same_gas_or_the_batch_reverts(hostile: Batches, people: People) -> None:
    batch = [hostile.sign(people.buyer, value) for value in (5, 7, 11)]

    def send(gas: int) -> Receipt:
        return hostile.capture(*batch, gas=gas)

    def received(gas: int) -> list[int] | None:
        receipt = attempt(hostile, send, gas)
        return None if receipt is None else [log.values[0] for log in hostile.token.explain(receipt.raw_logs)]

    expected = received(2_000_000)
    assert expected is not None
    assert len(expected) == 3
    assert all(CALL_GAS - 3_000 < gas <= CALL_GAS for gas in expected)
    lowest = lowest_gas(hostile, send, 100_000, 2_000_000)
    for gas in (lowest, lowest + 1, lowest + 63, lowest + 1_000, lowest + 10_000):
        assert received(gas) == expected
    for gas in (lowest - 1, lowest - 2_000, lowest - 20_000, lowest - 100_000):
        assert received(gas) is None
    with refused("InsufficientGas()"):
        send(lowest - 1)


@pytest.mark.parametrize("form", ["parts", "bytes"])
def test_gas_limit_cannot_turn_a_capture_into_a_failure(
    batches: Batches, people: People, wallet: OnChain, form: str
) -> None:
    """The wallet accepts only with all the gas that it receives if gas is abundant."""
    stranger = people.stranger.address
    batch = [batches.sign(people.buyer, 1), batches.sign(account(wallet), 5, owner=people.buyer)]

    def send(gas: int) -> Receipt:
        capture = batches.capture if form == "parts" else batches.capture_wallets
        return capture(*batch, gas=gas)

    def captures(threshold: int) -> bool:
        play(wallet, stranger, WALLET["CountGas"], threshold)
        receipt = attempt(batches, send, 3_000_000)
        assert receipt is not None
        return len(receipt.logs) == 0

    low, high = 1, CALL_GAS
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if captures(middle) else (low, middle)
    assert CALL_GAS * 3 // 4 < low < CALL_GAS
    assert captures(low)
    lowest = lowest_gas(batches, send, 100_000, 3_000_000)
    for gas in (lowest, lowest + 1, lowest + 500, lowest + 5_000, lowest + 50_000):
        receipt = attempt(batches, send, gas)
        assert receipt is not None
        assert receipt.logs == []


@pytest.mark.parametrize("delegated", [False, True])
@pytest.mark.parametrize("attack", ["BurnGas", "ReturnBomb", "RevertBomb"])
def test_attacking_wallet_costs_a_bounded_amount(
    batches: Batches, people: People, wallet: OnChain, attack: str, *, delegated: bool
) -> None:
    """Also an account with a key, which delegates to a wallet (EIP-7702) after its payment was checked."""
    payer = account(wallet)
    good = [batches.sign(people.buyer, 3), batches.sign(people.other, 4)]
    with batches.token.chain.rollback():
        usual = batches.capture(*good).gas_used
    if delegated:
        payer = people.rescuer
        batches.token.chain.rpc("anvil_setCode", payer.address, "0xef0100" + wallet.address[2:])
        batches.token.send(people.buyer.address, "transfer", payer.address, 1000)
        play(OnChain(wallet.chain, payer.address, wallet.abi), people.stranger.address, WALLET[attack], 0)
    play(wallet, people.stranger.address, WALLET[attack], 0)
    bad = batches.sign(payer, 5, owner=people.buyer)
    receipt = batches.capture(good[0], bad, good[1])
    failed = batches.outcome(receipt).failed
    assert list(failed) == [bad.key]
    assert len(failed[bad.key].data) <= 256
    assert receipt.gas_used <= usual + CALL_GAS + OWN_COSTS
    assert (batches.received(), batches.held(), batches.used(bad)) == (7, 0, False)


def test_expensive_wallet_is_captured_with_more_call_gas(batches: Batches, people: People, wallet: OnChain) -> None:
    cheap, dear = (batches.sign(account(wallet), value, owner=people.buyer) for value in (5, 7))
    play(wallet, people.stranger.address, WALLET["SpendGas"], 100_000)
    batches.capture(cheap)
    play(wallet, people.stranger.address, WALLET["SpendGas"], 400_000)
    assert list(batches.outcome(batches.capture(dear)).failed) == [dear.key]
    assert list(batches.outcome(batches.capture_wallets(dear)).failed) == [dear.key]
    batches.capture_wallets(dear, call_gas=500_000)
    assert batches.received() == 12


def test_batch_of_attacking_wallets_is_reported(batches: Batches, people: People, wallet: OnChain) -> None:
    play(wallet, people.stranger.address, WALLET["BurnGas"], 0)
    bad = [batches.sign(account(wallet), 1, owner=people.buyer) for _ in range(50)]
    good = batches.sign(people.buyer, 3)
    for form in ("parts", "bytes"):
        if form == "parts":
            data = batches.contract.data(CAPTURE, [signed.parts for signed in (*bad, good)])
        else:
            data = batches.contract.data(WALLETS, [signed.packed for signed in (*bad, good)], CALL_GAS)
        with batches.token.chain.rollback():
            receipt = batches.send(data, gas=max_batch_gas(data))
            assert list(batches.outcome(receipt).failed) == [signed.key for signed in bad]
            assert 51 * CALL_GAS * 0.9 < receipt.gas_used <= 51 * (CALL_GAS + OWN_COSTS)
            assert batches.received() == 3


@pytest.mark.parametrize("call_gas", [CALL_GAS, 5_000_000])
@pytest.mark.parametrize("size", [1, 2])
def test_maximum_gas_suffices_for_every_revert_data(hostile: Batches, people: People, size: int, call_gas: int) -> None:
    batch = [hostile.sign(people.buyer, 5) for _ in range(size)]
    data = hostile.contract.data(WALLETS, [signed.packed for signed in batch], call_gas)
    for attack, length in (("BurnGas", 0), ("RevertBytes", 256), ("ReturnBytes", 0)):
        play(hostile.token, people.stranger.address, TOKEN[attack], length, people.stranger.address, b"")
        with hostile.token.chain.rollback():
            hostile.send(data, gas=max_batch_gas(data))


@pytest.mark.parametrize("size", [0, 1, 31, 32, 255, 256, 257, 100_000])
def test_revert_data_is_reported_up_to_256_bytes(hostile: Batches, people: People, size: int) -> None:
    play(hostile.token, people.stranger.address, TOKEN["RevertBytes"], size, people.stranger.address, b"")
    batch = [hostile.sign(people.buyer, value) for value in (5, 7)]
    receipt = hostile.capture(*batch)
    sent = b"\xff" * 32 + hostile.contract.data(CAPTURE, [signed.parts for signed in batch])[32:] + bytes(100_000)
    reasons = [bytes.fromhex(log.values[2][2:]) for log in receipt.logs]
    assert [len(reason) for reason in reasons] == [min(size, 256)] * 2
    # The token reverts with the beginning of its own call data.
    assert all(reason[:32] == sent[: min(size, 32)] for reason in reasons)
    assert (hostile.received(), hostile.held()) == (0, 0)


def test_data_that_the_token_returns_is_not_copied(hostile: Batches, people: People) -> None:
    signed = hostile.sign(people.buyer, 5)
    with hostile.token.chain.rollback():
        usual = hostile.capture(signed).gas_used
    play(hostile.token, people.stranger.address, TOKEN["ReturnBytes"], 200_000, people.stranger.address, b"")
    receipt = hostile.capture(signed)
    assert hostile.received() == 5
    # The token pays 97,000 for its memory; a copy would cost as much again.
    assert 90_000 < receipt.gas_used - usual < 110_000


def test_false_receipt_reverts_the_batch(hostile: Batches, people: People) -> None:
    batch = [hostile.sign(people.buyer, 5), hostile.sign(people.buyer, 7)]
    hostile.token.send(people.stranger.address, "mint", hostile.contract.address, 100)
    for attack in ("MoveNothing", "KeepFee"):
        play(hostile.token, people.stranger.address, TOKEN[attack], 0, people.stranger.address, b"")
        with refused(f"AmountNotReceived({hostile.contract.address}, 12)"):
            hostile.capture(*batch)
    assert (hostile.received(), hostile.held()) == (0, 100)


def test_false_transfer_to_the_merchant_reverts_the_batch(hostile: Batches, people: People) -> None:
    signed, merchant = hostile.sign(people.buyer, 5), people.merchant.address
    hostile.token.send(people.stranger.address, "mint", hostile.contract.address, 100)
    for attack, refusal in {
        "ReturnFalse": f"SafeERC20FailedOperation({hostile.token.address})",
        "TransferNothing": f"AmountNotReceived({merchant}, 5)",
        "TransferTwice": f"AmountNotSent({hostile.contract.address}, 5)",
    }.items():
        play(hostile.token, people.stranger.address, TOKEN[attack], 0, people.stranger.address, b"")
        with refused(refusal):
            hostile.capture(signed)
        assert (hostile.received(), hostile.held()) == (0, 100)
    # Old tokens return no value, which counts as success.
    play(hostile.token, people.stranger.address, TOKEN["TransferReturnNothing"], 0, people.stranger.address, b"")
    hostile.capture(signed)
    assert (hostile.received(), hostile.held()) == (5, 100)


def test_tokens_that_arrive_during_a_batch_are_left_to_sweep(hostile: Batches, people: People) -> None:
    play(hostile.token, people.stranger.address, TOKEN["AddUnit"], 0, people.stranger.address, b"")
    hostile.capture(hostile.sign(people.buyer, 5), hostile.sign(people.buyer, 7))
    assert (hostile.received(), hostile.held()) == (12, 2)
    hostile.contract.send(people.merchant.address, "sweep")
    assert (hostile.received(), hostile.held()) == (14, 0)


def test_nested_calls_of_a_batch_are_rejected(hostile: Batches, people: People) -> None:
    """The token is also the merchant, so that only the reentrancy guard can prevent it."""
    artifact, token, stranger = load("BatchCapture"), hostile.token, people.stranger.address
    creation = artifact.creation(token.address, token.address)
    placed = deploy(token.chain, stranger, creation, artifact.abi)
    signed = hostile.sign(people.buyer, 5)
    token.send(stranger, "mint", placed.address, 100)
    token.chain.rpc("anvil_setBalance", token.address, hex(10**18))
    for data in (placed.data(CAPTURE, [signed.parts]), placed.data("sweep")):
        play(token, stranger, TOKEN["Reenter"], 0, placed.address, data)
        (log,) = placed.send(token.address, CAPTURE, [signed.parts]).logs
        assert (log.event, log.values[2]) == ("CaptureFailed", GUARDED)
        # A token that is not the merchant does not reach the guard.
        play(token, stranger, TOKEN["Reenter"], 0, hostile.contract.address, data)
        (log,) = hostile.capture(signed).logs
        assert (log.event, log.values[2]) == ("CaptureFailed", NOT_MERCHANT)
    assert token.call("balanceOf", placed.address) == 100
