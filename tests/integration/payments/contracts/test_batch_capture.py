"""The batch capture: its rules, and what each reason for a failure leaves."""

from collections.abc import Callable

import pytest

from foreseal.codec import keccak
from foreseal.payments.chain.batch_capture import CALL_GAS, CAPTURE_FAILED, MAX_AUTHORIZATIONS
from foreseal.payments.contracts import load
from foreseal.testing import TestAccount
from payments.contracts.batches import CAPTURE, WALLETS, Batches, Signed, give, payers
from payments.contracts.doubles import double
from payments.contracts.onchain import OnChain, deploy, refused
from payments.contracts.people import DOLLAR, People
from payments.contracts.signing import Domain

ZERO = "0x" + "00" * 20
USED = "FiatTokenV2: authorization is used or canceled"
INVALID = "FiatTokenV2: invalid signature"


@pytest.fixture
def batches(token: OnChain, domain: Domain, people: People) -> Batches:
    return Batches(token, domain, people)


def test_batch_capture_interface_is_stable() -> None:
    contract = OnChain(None, "0x", load("BatchCapture").abi)  # type: ignore[arg-type]
    for signature, selector in {CAPTURE: "13fd08ce", WALLETS: "9df50e0c", "sweep()": "35faa416"}.items():
        assert keccak(signature.encode())[:4].hex() == selector
        assert contract.function(signature, ())["stateMutability"] == "nonpayable"
    topic = keccak(b"CaptureFailed(address,bytes32,bytes)")
    assert topic == CAPTURE_FAILED
    assert topic.hex() == "88ecbe1c29fb1c03c89ba6bc4e8771a14b2a6817facbe36d8a9059917d2157ce"
    (event,) = (entry for entry in contract.abi if entry["type"] == "event")
    inputs = [(given["name"], given["type"], given["indexed"]) for given in event["inputs"]]
    assert inputs == [("payer", "address", True), ("nonce", "bytes32", True), ("reason", "bytes", False)]


def test_batch_capture_stores_nothing_and_cannot_be_changed() -> None:
    artifact = load("BatchCapture")
    changing = [
        entry["name"]
        for entry in artifact.abi
        if entry["type"] == "function" and entry["stateMutability"] not in ("view", "pure")
    ]
    assert sorted(changing) == ["capture", "captureFromWallets", "sweep"]
    assert artifact.storage == ()


def test_invalid_token_or_merchant_is_rejected_at_creation(token: OnChain, people: People) -> None:
    artifact = load("BatchCapture")
    for refusal, arguments in [
        ("InvalidToken()", (ZERO, people.merchant.address)),
        ("InvalidToken()", (people.other.address, people.merchant.address)),
        ("InvalidMerchant()", (token.address, ZERO)),
    ]:
        with refused(refusal):
            deploy(token.chain, people.stranger.address, artifact.creation(*arguments), artifact.abi)
    made = deploy(
        token.chain, people.stranger.address, artifact.creation(token.address, people.merchant.address), artifact.abi
    )
    assert (made.call("token"), made.call("merchant")) == (token.address, people.merchant.address)
    limits = [made.call(name) for name in ("MAXIMUM_AUTHORIZATIONS", "CALL_GAS", "MAXIMUM_REASON")]
    assert limits == [MAX_AUTHORIZATIONS, CALL_GAS, 256] == [200, 200_000, 256]


@pytest.mark.parametrize("form", ["parts", "bytes"])
def test_the_sum_of_a_batch_goes_to_the_merchant(batches: Batches, people: People, form: str) -> None:
    batch = [batches.sign(people.buyer, 5), batches.sign(people.other, 7), batches.sign(people.buyer, 11)]
    receipt = batches.capture(*batch) if form == "parts" else batches.capture_wallets(*batch)
    contract, merchant = batches.contract.address, people.merchant.address
    logs = [(log.event, log.values) for log in batches.token.explain(receipt.raw_logs)]
    expected = []
    for signed in batch:
        terms = signed.terms
        expected.append(("AuthorizationUsed", (terms.payer, "0x" + terms.nonce.hex())))
        expected.append(("Transfer", (terms.payer, contract, terms.value)))
    assert logs == [*expected, ("Transfer", (contract, merchant, 23))]
    assert len(receipt.raw_logs) == 7
    assert (batches.received(), batches.held()) == (23, 0)
    assert batches.token.call("balanceOf", people.buyer.address) == 1000 * DOLLAR - 16
    outcome = batches.outcome(receipt)
    assert list(outcome.captured) == [signed.key for signed in batch]
    assert [transfer.position for transfer in outcome.captured.values()] == [1, 3, 5]
    assert (outcome.amount, outcome.failed) == (23, {})


def test_only_the_merchant_captures_and_sweeps(batches: Batches, people: People) -> None:
    signed, contract = batches.sign(people.buyer, 5), batches.contract
    for sender in (people.buyer.address, people.stranger.address, people.owner.address):
        for name, *arguments in ((CAPTURE, [signed.parts]), (WALLETS, [signed.packed], 200_000), ("sweep",)):
            with refused("NotMerchant()"):
                contract.send(sender, name, *arguments)
    assert not batches.used(signed)


def test_authorization_is_useless_outside_of_the_contract(batches: Batches, people: People) -> None:
    signed = batches.sign(people.buyer, 5)
    for sender in (people.merchant.address, people.stranger.address):
        with refused("FiatTokenV2: caller must be the payee"):
            batches.token.send(sender, "receiveWithAuthorization", *signed.terms.terms, *signed.signature)
        with refused(INVALID):
            batches.token.send(sender, "transferWithAuthorization", *signed.terms.terms, *signed.signature)


def test_batch_of_invalid_size_is_rejected(batches: Batches, people: People) -> None:
    one = batches.sign(people.buyer, 5)
    for batch in ([], [one] * 201):
        with refused("InvalidBatchSize()"):
            batches.capture(*batch)
        with refused("InvalidBatchSize()"):
            batches.capture_wallets(*batch)
    for send in (batches.capture, batches.capture_wallets):
        with batches.token.chain.rollback():
            receipt = send(*[one] * 200)
            assert (batches.received(), len(receipt.logs)) == (5, 199)


def test_too_little_call_gas_is_rejected(batches: Batches, people: People) -> None:
    signed = batches.sign(people.buyer, 5)
    for call_gas in (0, 199_999):
        with refused("InvalidCallGas()"):
            batches.capture_wallets(signed, call_gas=call_gas)
    with refused("InsufficientGas()"):
        batches.capture_wallets(signed, call_gas=2**256 - 1)
    batches.capture_wallets(signed, call_gas=200_000)
    assert batches.received() == 5


def spoil_used(batches: Batches, people: People) -> Signed:
    signed = batches.sign(people.buyer, 5)
    batches.capture(signed)
    return signed


def spoil_canceled(batches: Batches, people: People) -> Signed:
    signed = batches.sign(people.buyer, 5)
    terms = {"authorizer": people.buyer.address, "nonce": signed.terms.nonce}
    canceled = batches.domain.sign(people.buyer.key, "CancelAuthorization", **terms)
    batches.token.send(people.stranger.address, "cancelAuthorization", *terms.values(), *canceled)
    return signed


def spoil_blacklisted(batches: Batches, people: People) -> Signed:
    batches.token.send(people.blacklister.address, "blacklist", people.buyer.address)
    return batches.sign(people.buyer, 5)


def spoil_forbidden(batches: Batches, people: People) -> Signed:
    token, owner = batches.token, people.owner.address
    policy = token.send(owner, "createPolicy", 0, [people.buyer.address]).logs[0].values[0]
    token.send(owner, "updatePolicy", bytes.fromhex(token.call("TRANSFER_SENDER_POLICY")[2:]), policy)
    return batches.sign(people.buyer, 5)


FAILURES: dict[str, tuple[Callable[[Batches, People], Signed], str]] = {
    "used": (spoil_used, USED),
    "canceled": (spoil_canceled, USED),
    "blacklisted": (spoil_blacklisted, "Blacklistable: account is blacklisted"),
    "forbidden": (spoil_forbidden, "0xa43fec12"),
    "early": (
        lambda batches, people: batches.sign(people.buyer, 5, valid_after=DEADLINE_FAR),
        "FiatTokenV2: authorization is not yet valid",
    ),
    "expired": (
        lambda batches, people: batches.sign(people.buyer, 5, valid_before=1),
        "FiatTokenV2: authorization is expired",
    ),
    "poor": (
        lambda batches, people: batches.sign(people.stranger, 5),
        "ERC20: transfer amount exceeds balance",
    ),
    "signer": (lambda batches, people: batches.sign(people.buyer, 5, owner=people.other), INVALID),
    "payee": (lambda batches, people: batches.sign(people.buyer, 5, payee=people.merchant.address), INVALID),
    "v": (
        lambda batches, people: with_signature(batches.sign(people.buyer, 5), v=2),
        "ECRecover: invalid signature 'v' value",
    ),
    "s": (
        lambda batches, people: with_signature(batches.sign(people.buyer, 5), s=b"\xff" * 32),
        "ECRecover: invalid signature 's' value",
    ),
    "itself": (
        lambda batches, people: batches.sign(TestAccount(batches.contract.address, people.buyer.key), 5),
        INVALID,
    ),
    "token": (
        lambda batches, people: batches.sign(TestAccount(batches.token.address, people.buyer.key), 5),
        "Blacklistable: account is blacklisted",
    ),
}
DEADLINE_FAR = 1_999_999_999


def with_signature(signed: Signed, **changes: int | bytes) -> Signed:
    return Signed(signed.terms, signed.signature._replace(**changes))


@pytest.mark.parametrize("form", ["parts", "bytes"])
@pytest.mark.parametrize("failure", FAILURES)
def test_failed_authorization_stops_no_other(batches: Batches, people: People, failure: str, form: str) -> None:
    spoil, reason = FAILURES[failure]
    good = [batches.sign(people.other, 3), batches.sign(people.other, 4)]
    bad = spoil(batches, people)
    before, used = batches.received(), batches.used(bad)
    batch = (good[0], bad, good[1])
    receipt = batches.capture(*batch) if form == "parts" else batches.capture_wallets(*batch)
    outcome = batches.outcome(receipt)
    assert list(outcome.captured) == [signed.key for signed in good]
    assert list(outcome.failed) == [bad.key]
    failed_capture = outcome.failed[bad.key]
    assert failed_capture.reason.startswith(reason)
    (log,) = receipt.logs
    assert (log.event, log.address) == ("CaptureFailed", batches.contract.address)
    assert log.values == (bad.terms.payer, "0x" + bad.terms.nonce.hex(), "0x" + failed_capture.data.hex())
    assert (batches.received() - before, batches.held(), outcome.amount) == (7, 0, 7)
    assert batches.used(bad) is used
    assert all(batches.used(signed) for signed in good)


def test_duplicate_in_a_batch_is_captured_once(batches: Batches, people: People) -> None:
    signed = batches.sign(people.buyer, 5)
    receipt = batches.capture(signed, signed, with_signature(signed, s=b"\xff" * 32))
    assert [log.event for log in receipt.logs] == ["CaptureFailed"] * 2
    outcome = batches.outcome(receipt)
    assert (list(outcome.captured), outcome.failed) == ([signed.key], {})
    assert batches.received() == 5


def test_batch_without_any_success_reports_its_reasons(batches: Batches, people: People) -> None:
    """Also of a paused token: the authorizations remain usable."""
    batch = [batches.sign(people.buyer, 5), batches.sign(people.other, 7)]
    with batches.token.chain.rollback():
        batches.token.send(people.pauser.address, "pause")
        receipt = batches.capture(*batch)
        assert batches.failures(receipt) == dict.fromkeys((signed.key for signed in batch), "Pausable: paused")
        assert (len(receipt.raw_logs), batches.received()) == (2, 0)
        batches.token.send(people.pauser.address, "unpause")
        batches.capture(*batch)
        assert batches.received() == 12
    batches.token.send(people.blacklister.address, "blacklist", batches.contract.address)
    reasons = set(batches.failures(batches.capture(*batch)).values())
    assert reasons == {"Blacklistable: account is blacklisted"}


def test_merchant_who_cannot_receive_reverts_the_batch(batches: Batches, people: People) -> None:
    batch = [batches.sign(people.buyer, 5), batches.sign(people.other, 7)]
    batches.token.send(people.blacklister.address, "blacklist", people.merchant.address)
    with refused("Blacklistable: account is blacklisted"):
        batches.capture(*batch)
    assert not any(batches.used(signed) for signed in batch)
    assert batches.held() == 0


def test_zero_value_and_the_merchants_own_payment_are_captured(batches: Batches, people: People) -> None:
    zero = batches.sign(people.buyer, 0)
    receipt = batches.capture(zero)
    assert (list(batches.outcome(receipt).captured), len(receipt.raw_logs)) == ([zero.key], 2)
    batches.token.send(people.buyer.address, "transfer", people.merchant.address, 10)
    own = batches.sign(people.merchant, 4)
    outcome = batches.outcome(batches.capture(own, batches.sign(people.buyer, 1)))
    assert (outcome.amount, batches.received(), batches.held()) == (5, 11, 0)


def test_tokens_sent_directly_are_left_to_sweep(batches: Batches, people: People) -> None:
    with refused("ZeroAmount()"):
        batches.contract.send(people.merchant.address, "sweep")
    batches.token.send(people.other.address, "transfer", batches.contract.address, 100)
    receipt = batches.capture(batches.sign(people.buyer, 5))
    assert (batches.outcome(receipt).amount, batches.received(), batches.held()) == (5, 5, 100)
    swept = batches.contract.send(people.merchant.address, "sweep")
    (log,) = batches.token.explain(swept.raw_logs)
    assert log.values == (batches.contract.address, people.merchant.address, 100)
    assert (batches.received(), batches.held()) == (105, 0)


def test_malformed_call_data_is_rejected(batches: Batches, people: People) -> None:
    """The merchant's own call data, so the whole batch reverts."""
    signed = batches.sign(people.buyer, 5)
    data = bytearray(batches.contract.data(CAPTURE, [signed.parts]))
    # The first bytes of the payer's word and of that of v.
    for position in (4 + 2 * 32, 4 + 7 * 32):
        dirty = bytearray(data)
        dirty[position] = 1
        with refused("0x"):
            batches.send(bytes(dirty))
    with refused("0x"):
        batches.send(bytes(data[:-1]))
    batches.send(bytes(data))
    assert batches.received() == 5


def test_ether_is_rejected(batches: Batches, people: People) -> None:
    data = batches.contract.data(CAPTURE, [batches.sign(people.buyer, 5).parts])
    request = {"from": people.merchant.address, "to": batches.contract.address, "value": "0x1"}
    for given in (data, b""):
        with refused("0x"):
            batches.contract._request("eth_sendTransaction", request | {"data": given})


def test_contract_wallet_pays_in_both_forms(batches: Batches, people: People) -> None:
    artifact = double("Wallet")
    creation = artifact.creation(people.buyer.address)
    wallet = deploy(batches.token.chain, people.stranger.address, creation, artifact.abi)
    batches.token.send(people.buyer.address, "transfer", wallet.address, 100)
    account = TestAccount(wallet.address, "")
    first, second, third = (batches.sign(account, value, owner=people.buyer) for value in (5, 7, 9))
    batches.capture(first, batches.sign(people.other, 1))
    # A wallet's signature may have any length; only the wallet interprets it.
    payer, value, after, before, nonce, signature = second.packed
    long = (
        payer,
        value,
        after,
        before,
        nonce,
        signature[:64] + b"and more, over one word of 32 bytes" + signature[64:],
    )
    batches.contract.send(people.merchant.address, WALLETS, [long, batches.sign(people.other, 1).packed], 200_000)
    assert batches.received() == 14
    # The wallet's owner has no say once the wallet rejects the signature.
    wallet.send(people.stranger.address, "setAnswer", 1)
    assert batches.failures(batches.capture(third)) == {third.key: INVALID}


# Gas of a payment in a batch; `receiveWithAuthorization` alone costs 76,868.
MAX_GAS = 60_000


@pytest.mark.parametrize("form", ["parts", "bytes"])
@pytest.mark.parametrize("size", [50, 200])
def test_payment_in_a_batch_costs_less_than_60_000_gas(batches: Batches, size: int, form: str) -> None:
    """Whole transactions, of payers that pay for the first time; nonces have no zero byte."""
    accounts = payers(size)
    for account in accounts:
        give(batches.token, account, 10 * DOLLAR)
    terms = {"nonce": b"\x11" * 32, "valid_after": 1_700_000_000}
    batch = [batches.sign(account, DOLLAR + 1, **terms) for account in accounts]
    receipt = batches.capture(*batch) if form == "parts" else batches.capture_wallets(*batch)
    assert len(batches.outcome(receipt).captured) == size
    assert (batches.received(), batches.held()) == (size * (DOLLAR + 1), 0)
    assert receipt.gas_used < MAX_GAS * size
