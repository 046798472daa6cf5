"""The checkout: its rules, and each vulnerability of the plain design that it closes."""

from dataclasses import dataclass

import pytest

from foreseal.codec import keccak
from foreseal.payments.contracts import load
from foreseal.testing import TestAccount
from payments.contracts.doubles import double
from payments.contracts.onchain import OnChain, Receipt, deploy, refused
from payments.contracts.people import DOLLAR, People
from payments.contracts.signing import Domain, Signature

ORDER, OTHER = b"\x01".rjust(32, b"\0"), b"\x02".rjust(32, b"\0")
TRICKS = {
    "ReturnFalse": 1,
    "ReturnNothing": 2,
    "MoveNothing": 3,
    "KeepFee": 4,
    "Reenter": 5,
    "PermitNothing": 6,
    "PermitRevert": 7,
}


@dataclass
class Shop:
    """A checkout, and buyers who sign for it."""

    checkout: OnChain
    token: OnChain
    domain: Domain
    people: People

    def sign(
        self, maximum: int, nonce: int = 0, deadline: int | None = None, buyer: TestAccount | None = None
    ) -> Signature:
        """Return a buyer's permit for the checkout."""
        buyer = buyer or self.people.buyer
        terms = {"owner": buyer.address, "spender": self.checkout.address, "value": maximum, "nonce": nonce}
        return self.domain.sign(buyer.key, "Permit", **terms, deadline=deadline or self.deadline)

    @property
    def deadline(self) -> int:
        return 2_000_000_000

    def submit(self, maximum: int, signature: Signature) -> None:
        """Submit the buyer's permit as a stranger."""
        arguments = (self.people.buyer.address, self.checkout.address, maximum, self.deadline, *signature)
        self.token.send(self.people.stranger.address, "permit", *arguments)

    def capture(
        self, order: bytes, amount: int, maximum: int, signature: Signature, sender: str | None = None, **changes: int
    ) -> Receipt:
        deadline = changes.get("deadline", self.deadline)
        arguments = (order, self.people.buyer.address, amount, maximum, deadline, *signature)
        return self.checkout.send(sender or self.people.merchant.address, "capture", *arguments)

    def received(self) -> int:
        """Balance of the merchant."""
        return self.token.call("balanceOf", self.people.merchant.address)

    def left(self) -> int:
        """Allowance of the checkout."""
        return self.token.call("allowance", self.people.buyer.address, self.checkout.address)


@pytest.fixture
def shop(token: OnChain, domain: Domain, people: People) -> Shop:
    artifact = load("Checkout")
    creation = artifact.creation(token.address, people.merchant.address)
    checkout = deploy(token.chain, people.stranger.address, creation, artifact.abi)
    return Shop(checkout, token, domain, people)


def test_checkout_interface_is_stable() -> None:
    captured = "PaymentCaptured(bytes32,address,uint256,uint256)"
    assert keccak(captured.encode()).hex() == "099bbc1f94190f78ec3955750f0e155226c32f3b3db90885d51f8737c7c0ec76"
    capture = "capture(bytes32,address,uint256,uint256,uint256,uint8,bytes32,bytes32)"
    assert keccak(capture.encode())[:4].hex() == "9e1bccf0"
    contract = OnChain(None, "0x", load("Checkout").abi)  # type: ignore[arg-type]
    assert contract.function(capture, ()) is contract.function("capture", range(8))
    (event,) = (entry for entry in contract.abi if entry["type"] == "event")
    assert [(given["name"], given["indexed"]) for given in event["inputs"]] == [
        ("orderId", True),
        ("payer", True),
        ("amount", False),
        ("authorizedMaximum", False),
    ]
    errors = {entry["name"] for entry in contract.abi if entry["type"] == "error"}
    assert errors >= {"NotMerchant", "OrderAlreadyCaptured", "AmountExceedsMaximum"}


def test_token_and_merchant_cannot_be_changed() -> None:
    functions = [entry for entry in load("Checkout").abi if entry["type"] == "function"]
    assert [entry["name"] for entry in functions if entry["stateMutability"] != "view"] == ["capture"]
    assert [variable.label for variable in load("Checkout").storage] == ["captured", "lastCapture"]


def test_capture_moves_the_final_amount(shop: Shop) -> None:
    receipt = shop.capture(ORDER, 30, 50, shop.sign(50))
    (captured,) = receipt.logs
    assert (captured.event, captured.values) == (
        "PaymentCaptured",
        ("0x" + ORDER.hex(), shop.people.buyer.address, 30, 50),
    )
    events = [log.event for log in shop.token.explain(receipt.raw_logs)]
    assert events == ["Approval", "Transfer"]
    assert captured.index == int(receipt.raw_logs[1]["logIndex"], 16) + 1
    assert shop.token.explain(receipt.raw_logs)[1].values == (
        shop.people.buyer.address,
        shop.people.merchant.address,
        30,
    )
    assert (shop.received(), shop.left()) == (30, 20)
    assert shop.checkout.call("captured", ORDER) is True
    assert shop.checkout.call("captured", OTHER) is False
    assert shop.checkout.call("token") == shop.token.address
    assert shop.checkout.call("merchant") == shop.people.merchant.address


def test_checks_run_in_documented_order(shop: Shop) -> None:
    signature = shop.sign(50)
    shop.capture(ORDER, 50, 50, signature)
    with refused("NotMerchant()"):
        shop.capture(ORDER, 0, 50, signature, sender=shop.people.buyer.address)
    with refused(f"OrderAlreadyCaptured(0x{ORDER.hex()})"):
        shop.capture(ORDER, 0, 50, signature)
    with refused("ZeroAmount()"):
        shop.capture(OTHER, 0, 0, signature)
    with refused("AmountExceedsMaximum()"):
        shop.capture(OTHER, 51, 50, signature, deadline=1)
    with refused("PermitExpired(1)"):
        shop.capture(OTHER, 50, 50, signature, deadline=1)
    with refused("EIP2612: invalid signature"):
        shop.capture(OTHER, 50, 50, signature)
    assert shop.received() == 50


def test_permit_covers_only_the_signed_maximum(shop: Shop) -> None:
    with refused("EIP2612: invalid signature"):
        shop.capture(ORDER, 51, 51, shop.sign(50))
    with refused("EIP2612: invalid signature"):
        shop.capture(ORDER, 50, 50, shop.sign(50, buyer=shop.people.other))
    shop.submit(50, shop.sign(50))
    with refused("EIP2612: invalid signature"):
        shop.capture(ORDER, 50, 50, shop.sign(50, buyer=shop.people.other))


def test_permit_submitted_by_a_stranger_is_accepted(shop: Shop) -> None:
    signature = shop.sign(50)
    shop.submit(50, signature)
    receipt = shop.capture(ORDER, 30, 50, signature)
    assert [log.event for log in shop.token.explain(receipt.raw_logs)] == ["Transfer"]
    assert (shop.received(), shop.left()) == (30, 20)


def test_submitted_permit_works_after_permits_for_others(shop: Shop) -> None:
    """The limit is 15 other permits: a permit for another spender leaves the checkout's allowance unchanged."""
    signature, people = shop.sign(50), shop.people
    shop.submit(50, signature)

    def permit_for_another(nonce: int) -> None:
        terms = {"owner": people.buyer.address, "spender": people.other.address, "value": 1, "nonce": nonce}
        signed = shop.domain.sign(people.buyer.key, "Permit", **terms, deadline=shop.deadline)
        arguments = (people.buyer.address, people.other.address, 1, shop.deadline, *signed)
        shop.token.send(people.stranger.address, "permit", *arguments)

    for nonce in range(1, 16):
        permit_for_another(nonce)
    with shop.token.chain.rollback():
        shop.capture(ORDER, 30, 50, signature)
    permit_for_another(16)
    with refused("EIP2612: invalid signature"):
        shop.capture(ORDER, 30, 50, signature)


def test_submitted_permit_expires(shop: Shop) -> None:
    chain = shop.token.chain
    deadline = chain.time + 100
    signature = shop.sign(50, deadline=deadline)
    arguments = (shop.people.buyer.address, shop.checkout.address, 50, deadline, *signature)
    shop.token.send(shop.people.stranger.address, "permit", *arguments)
    with chain.rollback():
        chain.rpc("evm_setNextBlockTimestamp", deadline)
        shop.capture(ORDER, 30, 50, signature, deadline=deadline)
    chain.rpc("evm_setNextBlockTimestamp", deadline + 1)
    with refused(f"PermitExpired({deadline})"):
        shop.capture(ORDER, 30, 50, signature, deadline=deadline)


def test_unused_allowance_is_not_available_to_another_order(shop: Shop) -> None:
    first = shop.sign(50)
    shop.capture(ORDER, 30, 50, first)
    assert shop.left() == 20
    nobody = Signature(27, b"\x01" * 32, b"\x01" * 32)
    for maximum, signature in ((50, first), (20, first), (20, nobody), (20, shop.sign(20))):
        with refused("EIP2612: invalid signature"):
            shop.capture(OTHER, 20, maximum, signature)
    # With its own permit the other order has its own maximum, and the remaining allowance is gone.
    shop.capture(OTHER, 10, 15, shop.sign(15, nonce=1))
    assert (shop.received(), shop.left()) == (40, 5)


def test_revoked_permit_cannot_spend_the_allowance_of_another_order(shop: Shop) -> None:
    """The payer used its nonce otherwise; a merchant may even choose the remainder of the first order."""
    revoked = shop.sign(20, nonce=1)
    shop.capture(ORDER, 30, 50, shop.sign(50))
    people = shop.people
    terms = {"owner": people.buyer.address, "spender": people.other.address, "value": 0, "nonce": 1}
    signed = shop.domain.sign(people.buyer.key, "Permit", **terms, deadline=shop.deadline)
    arguments = (people.buyer.address, people.other.address, 0, shop.deadline, *signed)
    shop.token.send(people.buyer.address, "permit", *arguments)
    assert shop.left() == 20
    with refused("EIP2612: invalid signature"):
        shop.capture(OTHER, 20, 20, revoked)


def test_permit_from_before_the_last_capture_is_rejected(shop: Shop) -> None:
    """Strangers submitted two for the same maximum: the second overwrote the first."""
    first, second = shop.sign(50), shop.sign(50, nonce=1)
    shop.submit(50, first)
    shop.submit(50, second)
    shop.capture(ORDER, 50, 50, first)
    shop.token.send(shop.people.buyer.address, "approve", shop.checkout.address, 50)
    for signature in (first, second):
        with refused("EIP2612: invalid signature"):
            shop.capture(OTHER, 50, 50, signature)
    shop.capture(OTHER, 50, 50, shop.sign(50, nonce=2))


def test_payer_who_revoked_the_allowance_is_not_charged(shop: Shop) -> None:
    signature = shop.sign(50)
    shop.submit(50, signature)
    for allowed in (0, 49, 51):
        shop.token.send(shop.people.buyer.address, "approve", shop.checkout.address, allowed)
        with refused("EIP2612: invalid signature"):
            shop.capture(ORDER, 30, 50, signature)


def test_a_permit_without_bounds(shop: Shop) -> None:
    top = 2**256 - 1
    shop.capture(ORDER, 30, top, shop.sign(top))
    assert shop.checkout.call("lastCapture", shop.people.buyer.address) == (1, 2**192 - 1)
    with refused("EIP2612: invalid signature"):
        shop.capture(OTHER, 30, top - 30, shop.sign(top - 30))
    shop.capture(OTHER, 30, 60, shop.sign(60, nonce=1))
    assert shop.checkout.call("lastCapture", shop.people.buyer.address) == (2, 30)


def test_token_errors_are_passed_on(shop: Shop) -> None:
    people, signature = shop.people, shop.sign(5000 * DOLLAR)
    with refused("ERC20: transfer amount exceeds balance"):
        shop.capture(ORDER, 5000 * DOLLAR, 5000 * DOLLAR, signature)
    shop.token.send(people.blacklister.address, "blacklist", people.buyer.address)
    with refused("Blacklistable: account is blacklisted"):
        shop.capture(ORDER, 1, 5000 * DOLLAR, signature)
    shop.token.send(people.pauser.address, "pause")
    with refused("Pausable: paused"):
        shop.capture(ORDER, 1, 5000 * DOLLAR, signature)
    assert shop.checkout.call("captured", ORDER) is False
    assert shop.token.call("nonces", people.buyer.address) == 0


@pytest.fixture
def tricked(token: OnChain, domain: Domain, people: People) -> Shop:
    """Return a checkout for a token that misbehaves."""
    artifact, checkout = double("TrickToken"), load("Checkout")
    trick = deploy(token.chain, people.stranger.address, artifact.creation(), artifact.abi)
    trick.send(people.stranger.address, "mint", people.buyer.address, 1000)
    creation = checkout.creation(trick.address, people.merchant.address)
    placed = deploy(token.chain, people.stranger.address, creation, checkout.abi)
    return Shop(placed, trick, domain, people)


def test_false_token_success_is_rejected(tricked: Shop) -> None:
    signature, sender = tricked.sign(50), tricked.people.stranger.address
    merchant = tricked.people.merchant.address
    for trick, refusal in {
        "ReturnFalse": f"SafeERC20FailedOperation({tricked.token.address})",
        "MoveNothing": f"AmountNotReceived({merchant}, 30)",
        "KeepFee": f"AmountNotReceived({merchant}, 30)",
        "PermitNothing": "Panic(0x11)",
    }.items():
        tricked.token.send(sender, "play", TRICKS[trick], merchant, b"")
        with refused(refusal):
            tricked.capture(ORDER, 30, 50, signature)
        assert tricked.checkout.call("captured", ORDER) is False
    # Old tokens return no value, which counts as success.
    tricked.token.send(sender, "play", TRICKS["ReturnNothing"], merchant, b"")
    tricked.capture(ORDER, 30, 50, signature)
    assert tricked.received() == 30


def test_unusable_permit_reverts_without_a_reason(tricked: Shop) -> None:
    merchant = tricked.people.merchant.address
    tricked.token.send(tricked.people.buyer.address, "approve", tricked.checkout.address, 50)
    tricked.token.send(merchant, "play", TRICKS["PermitRevert"], merchant, b"")
    with refused("PermitNotUsable()"):
        tricked.capture(ORDER, 30, 50, tricked.sign(50))


def test_nested_capture_is_rejected(tricked: Shop) -> None:
    """The token is also the merchant, so that only the reentrancy guard can prevent it."""
    people, checkout = tricked.people, load("Checkout")
    creation = checkout.creation(tricked.token.address, tricked.token.address)
    placed = deploy(tricked.token.chain, people.stranger.address, creation, checkout.abi)
    again = placed.data("capture", OTHER, people.buyer.address, 1, 1, 2**40, 27, b"\1" * 32, b"\1" * 32)
    tricked.token.send(people.stranger.address, "play", TRICKS["Reenter"], placed.address, again)
    with refused("ReentrancyGuardReentrantCall()"):
        placed.send(
            tricked.token.address, "capture", ORDER, people.buyer.address, 1, 5, 2**40, 27, b"\1" * 32, b"\1" * 32
        )


def test_contract_wallet_can_pay(shop: Shop) -> None:
    people, artifact = shop.people, double("Wallet")
    creation = artifact.creation(people.buyer.address)
    wallet = deploy(shop.token.chain, people.stranger.address, creation, artifact.abi)
    shop.token.send(people.buyer.address, "transfer", wallet.address, 100)
    terms = {"owner": wallet.address, "spender": shop.checkout.address, "value": 50, "nonce": 0}
    signature = shop.domain.sign(people.buyer.key, "Permit", **terms, deadline=shop.deadline)
    arguments = (wallet.address, 30, 50, shop.deadline, *signature)
    with shop.token.chain.rollback():
        shop.checkout.send(people.merchant.address, "capture", ORDER, *arguments)
        assert shop.received() == 30
    submitted = (wallet.address, shop.checkout.address, 50, shop.deadline, *signature)
    shop.token.send(people.stranger.address, "permit", *submitted)
    shop.checkout.send(people.merchant.address, "capture", ORDER, *arguments)
    assert shop.received() == 30


def test_checkout_storage_layout_is_stable(shop: Shop) -> None:
    shop.capture(ORDER, 30, 50, shop.sign(50))
    order = int.from_bytes(keccak(ORDER + bytes(32)), "big")
    payer = bytes.fromhex(shop.people.buyer.address[2:]).rjust(32, b"\0")
    last = int.from_bytes(keccak(payer + (1).to_bytes(32, "big")), "big")
    assert (shop.checkout.storage(order), shop.checkout.storage(last)) == (1, 20 << 64 | 1)
