"""x402's proxies over Permit2: exactly or at most the amount that the payer signed, to the signed payee."""

from dataclasses import dataclass
from typing import Any

import pytest
from eth_utils import keccak

from foreseal.payments.contracts import addresses, load
from payments.contracts.doubles import double
from payments.contracts.onchain import OnChain, Receipt, Reverted, deploy, refused
from payments.contracts.people import CHAIN_ID, TOKEN, People
from payments.contracts.signing import Domain, Signature, sign_digest, typed_digest

DEADLINE = 2_000_000_000
# Domain and types of x402's packages.
DOMAIN = {"name": "Permit2", "chainId": CHAIN_ID, "verifyingContract": addresses.PERMIT2}
TYPES = {
    "PermitWitnessTransferFrom": (
        "TokenPermissions permitted,address spender,uint256 nonce,uint256 deadline,Witness witness"
    ),
    "TokenPermissions": "address token,uint256 amount",
}
WITNESSES = {
    "exact": "address to,uint256 validAfter",
    "upto": "address to,address facilitator,uint256 validAfter",
}
PROXIES = {
    "exact": ("ExactPermit2Proxy", addresses.EXACT_PERMIT2_PROXY),
    "upto": ("UptoPermit2Proxy", addresses.UPTO_PERMIT2_PROXY),
}


@dataclass
class Payment:
    """The buyer's signature for a scheme, and its submission by a facilitator."""

    scheme: str
    token: OnChain
    domain: Domain
    people: People
    amount: int = 50
    nonce: int = 3
    valid_after: int = 0
    payee: str | None = None

    @property
    def proxy(self) -> OnChain:
        contract, address = PROXIES[self.scheme]
        # The proxy propagates reverts of Permit2 and the token.
        passed = [entry for name in ("Permit2", "PaymentToken") for entry in load(name).abi if entry["type"] == "error"]
        permits = [entry for entry in load("PaymentToken").abi if entry.get("name") == "Approval"]
        return OnChain(self.token.chain, address, [*load(contract).abi, *passed, *permits])

    @property
    def witness(self) -> tuple:
        payee = self.payee or self.people.merchant.address
        if self.scheme == "exact":
            return (payee, self.valid_after)
        return (payee, self.people.stranger.address, self.valid_after)

    @property
    def permit(self) -> tuple:
        return ((TOKEN, self.amount), self.nonce, DEADLINE)

    def sign(self) -> bytes:
        names = [field.split()[1] for field in WITNESSES[self.scheme].split(",")]
        message = {
            "permitted": {"token": TOKEN, "amount": self.amount},
            "spender": self.proxy.address,
            "nonce": self.nonce,
            "deadline": DEADLINE,
            "witness": dict(zip(names, self.witness, strict=True)),
        }
        types = TYPES | {"Witness": WITNESSES[self.scheme]}
        digest = typed_digest(DOMAIN, types, "PermitWitnessTransferFrom", message)
        return sign_digest(self.people.buyer.key, digest).packed

    def token_permit(self, value: int, nonce: int = 0) -> tuple:
        """Return the buyer's permit of the token for Permit2, in the form of the proxies' argument."""
        terms = {"owner": self.people.buyer.address, "spender": addresses.PERMIT2, "value": value, "nonce": nonce}
        signature: Signature = self.domain.sign(self.people.buyer.key, "Permit", **terms, deadline=DEADLINE)
        return (value, DEADLINE, signature.r, signature.s, signature.v)

    def settle(self, amount: int | None = None, permit2612: tuple | None = None, **changes: Any) -> Receipt:
        """Submit it as the facilitator; `amount` is for the scheme `upto`."""
        given: list[Any] = [] if permit2612 is None else [permit2612]
        given.append(changes.get("permit", self.permit))
        if self.scheme == "upto":
            given.append(self.amount if amount is None else amount)
        given += [changes.get("owner", self.people.buyer.address), changes.get("witness", self.witness)]
        given.append(changes.get("signature") or self.sign())
        name = "settle" if permit2612 is None else "settleWithPermit"
        return self.proxy.send(changes.get("sender", self.people.stranger.address), name, *given)

    def paid(self) -> int:
        return self.token.call("balanceOf", self.people.merchant.address)


@pytest.fixture(params=["exact", "upto"])
def payment(request: pytest.FixtureRequest, token: OnChain, domain: Domain, people: People) -> Payment:
    token.send(people.buyer.address, "approve", addresses.PERMIT2, 2**256 - 1)
    return Payment(request.param, token, domain, people)


@pytest.fixture
def upto(token: OnChain, domain: Domain, people: People) -> Payment:
    token.send(people.buyer.address, "approve", addresses.PERMIT2, 2**256 - 1)
    return Payment("upto", token, domain, people)


def test_the_proxy_describes_itself(payment: Payment) -> None:
    proxy, witness = payment.proxy, f"Witness({WITNESSES[payment.scheme]})"
    assert proxy.call("PERMIT2") == addresses.PERMIT2.lower()
    assert proxy.call("WITNESS_TYPEHASH") == "0x" + keccak(text=witness).hex()
    expected = f"Witness witness)TokenPermissions(address token,uint256 amount){witness}"
    assert proxy.call("WITNESS_TYPE_STRING") == expected


def test_a_payment_is_settled_once(payment: Payment) -> None:
    receipt = payment.settle()
    assert [log.event for log in receipt.logs] == ["Settled"]
    assert payment.paid() == 50
    with refused("InvalidNonce()"):
        payment.settle()


def test_money_goes_to_the_signed_destination(payment: Payment) -> None:
    signature, stranger = payment.sign(), payment.people.stranger.address
    elsewhere = (stranger, *payment.witness[1:])
    with refused("InvalidSigner()"):
        payment.settle(witness=elsewhere, signature=signature)
    with refused("InvalidSigner()"):
        payment.settle(owner=payment.people.other.address, signature=signature)
    with refused("InvalidSigner()"):
        payment.settle(permit=((TOKEN, 51), 3, DEADLINE), signature=signature)
    assert payment.paid() == 0


def test_settlement_errors_follow_the_documented_order(payment: Payment) -> None:
    zero, later = "0x" + "00" * 20, payment.token.chain.time + 10**6
    wrong = {"owner": zero, "witness": (zero, *payment.witness[1:-1], later), "signature": b"\1" * 65}
    with refused("InvalidAmount()"):
        payment.settle(permit=((TOKEN, 0), 3, DEADLINE), amount=0, **wrong)
    with refused("InvalidOwner()"):
        payment.settle(**wrong)
    wrong["owner"] = payment.people.buyer.address
    with refused("InvalidDestination()"):
        payment.settle(**wrong)
    wrong["witness"] = (*payment.witness[:-1], later)
    with refused("PaymentTooEarly()"):
        payment.settle(**wrong)
    wrong["witness"] = payment.witness
    with refused("SignatureExpired(1)"):
        payment.settle(permit=((TOKEN, 50), 3, 1), **wrong)


def test_start_of_validity_is_inclusive(payment: Payment) -> None:
    begin = payment.token.chain.time + 100
    payment.valid_after = begin
    for second, refusal in ((begin - 1, "PaymentTooEarly()"), (begin, None)):
        with payment.token.chain.rollback() as chain:
            chain.rpc("evm_setNextBlockTimestamp", second)
            if refusal is None:
                payment.settle()
                continue
            with refused(refusal):
                payment.settle()


def test_payer_without_permit2_approval_signs_a_permit(payment: Payment) -> None:
    payment.token.send(payment.people.buyer.address, "approve", addresses.PERMIT2, 0)
    with refused("TRANSFER_FROM_FAILED"):
        payment.settle()
    with refused("Permit2612AmountMismatch()"):
        payment.settle(permit2612=payment.token_permit(51))
    receipt = payment.settle(permit2612=payment.token_permit(50))
    assert [log.event for log in receipt.logs] == ["Approval", "SettledWithPermit"]
    assert payment.paid() == 50


def test_permit_submitted_by_a_stranger_is_accepted(payment: Payment) -> None:
    people = payment.people
    payment.token.send(people.buyer.address, "approve", addresses.PERMIT2, 0)
    value, deadline, r, s, v = payment.token_permit(50)
    arguments = (people.buyer.address, addresses.PERMIT2, value, deadline, v, r, s)
    payment.token.send(people.stranger.address, "permit", *arguments)
    receipt = payment.settle(permit2612=(value, deadline, r, s, v))
    failed, settled = receipt.logs
    assert (failed.event, settled.event) == ("EIP2612PermitFailedWithReason", "SettledWithPermit")
    assert failed.values == (TOKEN.lower(), people.buyer.address, "EIP2612: invalid signature")
    assert payment.paid() == 50


def test_upto_accepts_any_amount_up_to_the_signed_maximum(upto: Payment) -> None:
    for sender in (upto.people.stranger, upto.people.buyer):
        with refused("AmountExceedsPermitted()"):
            upto.settle(51, sender=sender.address)
    with refused("InvalidAmount()"):
        upto.settle(0)
    upto.settle(1)
    assert upto.paid() == 1
    with refused("InvalidNonce()"):
        upto.settle(49)


def test_upto_is_settled_by_the_facilitator_that_was_signed(upto: Payment) -> None:
    for sender in (upto.people.merchant.address, upto.people.buyer.address):
        with refused("UnauthorizedFacilitator()"):
            upto.settle(sender=sender)
        with refused("UnauthorizedFacilitator()"):
            upto.settle(sender=sender, permit2612=upto.token_permit(50))
        with refused("InvalidSigner()"):
            witness = (upto.people.merchant.address, sender, 0)
            upto.settle(sender=sender, witness=witness, signature=upto.sign())


class Tricked:
    """Settlements of five units of a token that misbehaves, with or without its permit."""

    def __init__(self, payment: Payment, name: str) -> None:
        self.payment, self.name, people = payment, name, payment.people
        self.people, self.proxy, self.anybody = people, payment.proxy, people.stranger.address
        self.token = deploy(
            payment.token.chain, self.anybody, double("TrickToken").creation(), double("TrickToken").abi
        )
        self.token.send(self.anybody, "mint", people.buyer.address, 100)
        self.token.send(people.buyer.address, "approve", addresses.PERMIT2, 100)

    def arguments(self, nonce: int, facilitator: str) -> tuple:
        shop, scheme = self.people.merchant.address, self.payment.scheme
        witness = (shop, 0) if scheme == "exact" else (shop, facilitator, 0)
        names = [field.split()[1] for field in WITNESSES[scheme].split(",")]
        message = {
            "permitted": {"token": self.token.address, "amount": 5},
            "spender": self.proxy.address,
            "nonce": nonce,
            "deadline": DEADLINE,
            "witness": dict(zip(names, witness, strict=True)),
        }
        types = TYPES | {"Witness": WITNESSES[scheme]}
        digest = typed_digest(DOMAIN, types, "PermitWitnessTransferFrom", message)
        permit = () if self.name == "settle" else ((5, DEADLINE, bytes(32), bytes(32), 27),)
        amount = () if scheme == "exact" else (5,)
        signature = sign_digest(self.people.buyer.key, digest).packed
        permitted = ((self.token.address, 5), nonce, DEADLINE)
        return (*permit, permitted, *amount, self.people.buyer.address, witness, signature)

    def play(self, trick: int, data: bytes = b"") -> None:
        self.token.send(self.anybody, "play", trick, self.proxy.address, data)

    def settle(self, nonce: int) -> Receipt:
        return self.proxy.send(self.anybody, self.name, *self.arguments(nonce, self.anybody))


@pytest.mark.parametrize("name", ["settle", "settleWithPermit"])
def test_nested_settlement_is_rejected(payment: Payment, name: str) -> None:
    """The token settles another payment that its payer signed, so that only the reentrancy guard can prevent it."""
    tricked = Tricked(payment, name)
    again = tricked.arguments(2, tricked.token.address)
    tricked.play(5, tricked.proxy.data(name, *again))
    # Permit2 reports only that the transfer failed.
    with refused("TRANSFER_FROM_FAILED"):
        tricked.settle(1)
    tricked.play(0)
    tricked.settle(1)
    assert tricked.token.call("balanceOf", payment.people.merchant.address) == 5
    tricked.proxy.call(name, *again, sender=tricked.token.address)


@pytest.mark.parametrize(
    ("trick", "event", "told"),
    [(7, "EIP2612PermitFailedWithData", "0x"), (8, "EIP2612PermitFailedWithPanic", 1)],
    ids=["no reason", "a panic"],
)
def test_failing_permit_is_only_logged(payment: Payment, trick: int, event: str, told: object) -> None:
    tricked = Tricked(payment, "settleWithPermit")
    tricked.play(trick)
    failed, settled = tricked.settle(1).logs
    assert (failed.event, failed.values) == (event, (tricked.token.address, payment.people.buyer.address, told))
    assert settled.event == "SettledWithPermit"


@pytest.mark.parametrize("contract", ["ExactPermit2Proxy", "UptoPermit2Proxy"])
def test_proxy_without_permit2_cannot_be_deployed(token: OnChain, people: People, contract: str) -> None:
    artifact = load(contract)
    with refused("InvalidPermit2Address()"):
        deploy(token.chain, people.stranger.address, artifact.creation("0x" + "00" * 20), artifact.abi)


def test_token_rejection_reverts_the_settlement(payment: Payment) -> None:
    payment.token.send(payment.people.blacklister.address, "blacklist", payment.people.buyer.address)
    with pytest.raises(Reverted):
        payment.settle()
    assert payment.paid() == 0
