"""Permit2: transfers and allowances by signatures, hashed by eth-account, with a token and a wallet."""

from dataclasses import dataclass
from typing import Any

import pytest
from eth_abi.abi import encode
from eth_utils import keccak

from foreseal.payments.contracts import addresses, load
from payments.contracts.doubles import double
from payments.contracts.onchain import OnChain, deploy, refused
from payments.contracts.people import CHAIN_ID, TOKEN, People
from payments.contracts.signing import Signature, separator, sign_digest, typed_digest
from payments.contracts.slots import at

DOMAIN = {"name": "Permit2", "chainId": CHAIN_ID, "verifyingContract": addresses.PERMIT2}
PERMISSIONS = "address token,uint256 amount"
DETAILS = "address token,uint160 amount,uint48 expiration,uint48 nonce"
WITNESS_STRING = "Witness witness)TokenPermissions(address token,uint256 amount)Witness(address to,uint256 validAfter)"
DEADLINE = 2_000_000_000
UNLIMITED = 2**160 - 1


@dataclass
class Signing:
    """The buyer's messages for Permit2, whose spender is the merchant."""

    permit2: OnChain
    people: People

    def sign(self, types: dict[str, str], primary: str, message: dict[str, Any]) -> Signature:
        return sign_digest(self.people.buyer.key, typed_digest(DOMAIN, types, primary, message))

    def transfer(self, permitted: Any, nonce: int, witness: dict[str, Any] | None = None, many: str = "") -> Signature:
        """Sign a message of the signature transfers; `many` is the type suffix `[]` for a batch."""
        name = f"Permit{'Batch' if many else ''}{'Witness' if witness else ''}TransferFrom"
        fields = f"TokenPermissions{many} permitted,address spender,uint256 nonce,uint256 deadline"
        types = {name: fields + (",Witness witness" if witness else ""), "TokenPermissions": PERMISSIONS}
        message = {
            "permitted": permitted,
            "spender": self.people.merchant.address,
            "nonce": nonce,
            "deadline": DEADLINE,
        }
        if witness:
            types["Witness"] = "address to,uint256 validAfter"
            message["witness"] = witness
        return self.sign(types, name, message)

    def allowance(self, details: Any, deadline: int = DEADLINE, many: str = "") -> Signature:
        """Sign a permit for an allowance; `many` as above."""
        name = f"Permit{'Batch' if many else 'Single'}"
        types = {
            name: f"PermitDetails{many} details,address spender,uint256 sigDeadline",
            "PermitDetails": DETAILS,
        }
        message = {"details": details, "spender": self.people.merchant.address, "sigDeadline": deadline}
        return self.sign(types, name, message)


def named(details: tuple) -> dict[str, Any]:
    """Return the details of an allowance as typed data."""
    return dict(zip(("token", "amount", "expiration", "nonce"), details, strict=True))


@pytest.fixture
def permit2(token: OnChain, people: People) -> OnChain:
    """Return Permit2, with an allowance from the buyer."""
    token.send(people.buyer.address, "approve", addresses.PERMIT2, 2**256 - 1)
    return OnChain(token.chain, addresses.PERMIT2, load("Permit2").abi)


@pytest.fixture
def signing(permit2: OnChain, people: People) -> Signing:
    return Signing(permit2, people)


SINGLE = "permitTransferFrom(((address,uint256),uint256,uint256),(address,uint256),address,bytes)"
WITNESSED = (
    "permitWitnessTransferFrom(((address,uint256),uint256,uint256),(address,uint256),address,bytes32,string,bytes)"
)
BATCH = "permitTransferFrom(((address,uint256)[],uint256,uint256),(address,uint256)[],address,bytes)"
BATCH_WITNESSED = (
    "permitWitnessTransferFrom(((address,uint256)[],uint256,uint256),(address,uint256)[],address,bytes32,string,bytes)"
)
PERMIT_SINGLE = "permit(address,((address,uint160,uint48,uint48),address,uint256),bytes)"
PERMIT_BATCH = "permit(address,((address,uint160,uint48,uint48)[],address,uint256),bytes)"
TRANSFER = "transferFrom(address,address,uint160,address)"


def test_the_domain_has_no_version(permit2: OnChain) -> None:
    assert permit2.call("DOMAIN_SEPARATOR") == "0x" + separator(DOMAIN).hex()


@pytest.mark.parametrize("compact", [False, True], ids=["65 bytes", "64 bytes"])
def test_a_signature_moves_up_to_its_amount_once(
    token: OnChain, signing: Signing, people: People, compact: bool
) -> None:
    buyer, shop, other = (account.address for account in (people.buyer, people.merchant, people.other))
    signature = signing.transfer({"token": TOKEN, "amount": 50}, nonce=7)
    packed = signature.packed
    if compact:
        packed = signature.r + (int.from_bytes(signature.s, "big") | (signature.v - 27) << 255).to_bytes(32, "big")
    permit = ((TOKEN, 50), 7, DEADLINE)
    before = token.call("balanceOf", other)
    with refused("InvalidAmount(50)"):
        signing.permit2.send(shop, SINGLE, permit, (other, 51), buyer, packed)
    with refused("InvalidSigner()"):
        signing.permit2.send(people.stranger.address, SINGLE, permit, (other, 30), buyer, packed)
    signing.permit2.send(shop, SINGLE, permit, (other, 30), buyer, packed)
    assert token.call("balanceOf", other) == before + 30
    assert signing.permit2.call("nonceBitmap", buyer, 0) == 1 << 7
    with refused("InvalidNonce()"):
        signing.permit2.send(shop, SINGLE, permit, (other, 20), buyer, packed)


def test_an_invalid_permit_names_the_reason(signing: Signing, people: People) -> None:
    permit2, buyer, shop = signing.permit2, people.buyer.address, people.merchant.address
    signature = signing.transfer({"token": TOKEN, "amount": 50}, nonce=7)
    for refusal, permit, given in [
        ("SignatureExpired(1)", ((TOKEN, 49), 7, 1), signature.packed),
        ("InvalidSigner()", ((TOKEN, 51), 7, DEADLINE), signature.packed),
        ("InvalidSigner()", ((TOKEN, 50), 8, DEADLINE), signature.packed),
        ("InvalidSignatureLength()", ((TOKEN, 50), 7, DEADLINE), signature.packed[:63]),
        ("InvalidSignature()", ((TOKEN, 50), 7, DEADLINE), signature._replace(v=1).packed),
    ]:
        with refused(refusal):
            permit2.send(shop, SINGLE, permit, (shop, 50), buyer, given)
    with permit2.chain.rollback() as chain:
        chain.rpc("evm_setNextBlockTimestamp", DEADLINE)
        permit2.send(shop, SINGLE, ((TOKEN, 50), 7, DEADLINE), (shop, 50), buyer, signature.packed)
    with permit2.chain.rollback() as chain:
        chain.rpc("evm_setNextBlockTimestamp", DEADLINE + 1)
        with refused(f"SignatureExpired({DEADLINE})"):
            permit2.send(shop, SINGLE, ((TOKEN, 50), 7, DEADLINE), (shop, 50), buyer, signature.packed)


def test_witness_is_part_of_the_signature(token: OnChain, signing: Signing, people: People) -> None:
    buyer, shop = people.buyer.address, people.merchant.address
    witness = {"to": shop, "validAfter": 5}
    signature = signing.transfer({"token": TOKEN, "amount": 50}, 2**256 - 1, witness)
    hashes = [
        keccak(
            encode(["bytes32", "address", "uint256"], [keccak(text="Witness(address to,uint256 validAfter)"), *given])
        )
        for given in ((shop, 5), (buyer, 5))
    ]
    permit = ((TOKEN, 50), 2**256 - 1, DEADLINE)
    with refused("InvalidSigner()"):
        signing.permit2.send(shop, WITNESSED, permit, (shop, 50), buyer, hashes[1], WITNESS_STRING, signature.packed)
    signing.permit2.send(shop, WITNESSED, permit, (shop, 50), buyer, hashes[0], WITNESS_STRING, signature.packed)
    assert token.call("balanceOf", shop) == 50
    assert signing.permit2.call("nonceBitmap", buyer, 2**248 - 1) == 1 << 255
    permitted = [{"token": TOKEN, "amount": 5}]
    batch = signing.transfer(permitted, 1, witness, many="[]")
    arguments = (([(TOKEN, 5)], 1, DEADLINE), [(shop, 5)], buyer, hashes[0], WITNESS_STRING, batch.packed)
    signing.permit2.send(shop, BATCH_WITNESSED, *arguments)
    assert token.call("balanceOf", shop) == 55


def test_permit2_batch_moves_the_requested_amounts(token: OnChain, signing: Signing, people: People) -> None:
    buyer, shop = people.buyer.address, people.merchant.address
    permitted = [{"token": TOKEN, "amount": 5}, {"token": TOKEN, "amount": 7}]
    signature = signing.transfer(permitted, 0, many="[]").packed
    permit = ([(TOKEN, 5), (TOKEN, 7)], 0, DEADLINE)
    with refused("LengthMismatch()"):
        signing.permit2.send(shop, BATCH, permit, [(shop, 5)], buyer, signature)
    with refused("InvalidAmount(7)"):
        signing.permit2.send(shop, BATCH, permit, [(shop, 5), (shop, 8)], buyer, signature)
    receipt = signing.permit2.send(shop, BATCH, permit, [(shop, 0), (shop, 7)], buyer, signature)
    assert [log.values for log in token.explain(receipt.raw_logs)] == [(buyer, shop, 7)]
    with refused("InvalidNonce()"):
        signing.permit2.send(shop, BATCH, permit, [(shop, 5), (shop, 7)], buyer, signature)


def test_permit2_batch_requires_its_signed_terms(signing: Signing, people: People) -> None:
    buyer, shop = people.buyer.address, people.merchant.address
    signature = signing.transfer([{"token": TOKEN, "amount": 5}], 0, many="[]").packed
    asked = [(shop, 5)]
    for refusal, sender, permit in [
        ("SignatureExpired(1)", shop, ([(TOKEN, 5)] * 2, 0, 1)),
        ("InvalidSigner()", shop, ([(TOKEN, 6)], 0, DEADLINE)),
        ("InvalidSigner()", shop, ([(TOKEN, 5)], 1, DEADLINE)),
        ("InvalidSigner()", people.stranger.address, ([(TOKEN, 5)], 0, DEADLINE)),
    ]:
        with refused(refusal):
            signing.permit2.send(sender, BATCH, permit, asked, buyer, signature)


def test_owner_invalidates_nonces(signing: Signing, people: People) -> None:
    buyer, shop = people.buyer.address, people.merchant.address
    receipt = signing.permit2.send(buyer, "invalidateUnorderedNonces", 1, 0b110)
    assert [(log.event, log.values) for log in receipt.logs] == [("UnorderedNonceInvalidation", (buyer, 1, 6))]
    for nonce, used in ((256, False), (257, True), (258, True), (1, False)):
        signature = signing.transfer({"token": TOKEN, "amount": 5}, nonce)
        call = (shop, SINGLE, ((TOKEN, 5), nonce, DEADLINE), (shop, 5), buyer, signature.packed)
        if used:
            with refused("InvalidNonce()"):
                signing.permit2.send(*call)
        else:
            signing.permit2.send(*call)


def test_allowance_expires_and_decreases(token: OnChain, permit2: OnChain, people: People) -> None:
    buyer, shop = people.buyer.address, people.merchant.address
    end = token.chain.time + 100
    receipt = permit2.send(buyer, "approve", TOKEN, shop, 50, end)
    approved = (buyer, TOKEN.lower(), shop, 50, end)
    assert [(log.event, log.values) for log in receipt.logs] == [("Approval", approved)]
    permit2.send(shop, TRANSFER, buyer, shop, 30, TOKEN)
    assert permit2.call("allowance", buyer, TOKEN, shop) == (20, end, 0)
    with refused("InsufficientAllowance(20)"):
        permit2.send(shop, TRANSFER, buyer, shop, 21, TOKEN)
    with refused("AllowanceExpired(0)"):
        permit2.send(people.stranger.address, TRANSFER, buyer, shop, 0, TOKEN)
    permit2.send(shop, "transferFrom((address,address,uint160,address)[])", [(buyer, shop, 1, TOKEN)] * 2)
    with token.chain.rollback() as chain:
        chain.rpc("evm_setNextBlockTimestamp", end)
        permit2.send(shop, TRANSFER, buyer, shop, 1, TOKEN)
    token.chain.rpc("evm_setNextBlockTimestamp", end + 1)
    with refused(f"AllowanceExpired({end})"):
        permit2.send(shop, TRANSFER, buyer, shop, 1, TOKEN)
    assert token.call("balanceOf", shop) == 32


def test_unlimited_allowance_does_not_decrease_and_is_revocable(permit2: OnChain, people: People) -> None:
    buyer, shop = people.buyer.address, people.merchant.address
    permit2.send(buyer, "approve", TOKEN, shop, UNLIMITED, DEADLINE)
    permit2.send(shop, TRANSFER, buyer, shop, 30, TOKEN)
    assert permit2.call("allowance", buyer, TOKEN, shop) == (UNLIMITED, DEADLINE, 0)
    receipt = permit2.send(buyer, "lockdown", [(TOKEN, shop)])
    assert [(log.event, log.values) for log in receipt.logs] == [("Lockdown", (buyer, TOKEN.lower(), shop))]
    with refused("InsufficientAllowance(0)"):
        permit2.send(shop, TRANSFER, buyer, shop, 30, TOKEN)


def test_a_signed_allowance_has_nonces_in_order(permit2: OnChain, signing: Signing, people: People) -> None:
    buyer, shop, anybody = people.buyer.address, people.merchant.address, people.stranger.address
    details = (TOKEN, 50, DEADLINE, 0)
    signature = signing.allowance(named(details)).packed
    receipt = permit2.send(anybody, PERMIT_SINGLE, buyer, (details, shop, DEADLINE), signature)
    permitted = (buyer, TOKEN.lower(), shop, 50, DEADLINE, 0)
    assert [(log.event, log.values) for log in receipt.logs] == [("Permit", permitted)]
    assert permit2.call("allowance", buyer, TOKEN, shop) == (50, DEADLINE, 1)
    with refused("InvalidNonce()"):
        permit2.send(anybody, PERMIT_SINGLE, buyer, (details, shop, DEADLINE), signature)
    # Two in one batch, for the same token: the second has the next nonce. Expiration 0 means the current block.
    batch = [(TOKEN, 60, DEADLINE, 1), (TOKEN, 70, 0, 2)]
    signature = signing.allowance([named(each) for each in batch], many="[]").packed
    with refused("InvalidSigner()"):
        permit2.send(anybody, PERMIT_BATCH, buyer, (batch[:1], shop, DEADLINE), signature)
    receipt = permit2.send(anybody, PERMIT_BATCH, buyer, (batch, shop, DEADLINE), signature)
    block = permit2.chain.rpc("eth_getBlockByNumber", hex(receipt.block), False)
    assert permit2.call("allowance", buyer, TOKEN, shop) == (70, int(block["timestamp"], 16), 3)
    signature = signing.allowance(named((TOKEN, 1, 0, 3)), deadline=1).packed
    with refused("SignatureExpired(1)"):
        permit2.send(anybody, PERMIT_SINGLE, buyer, ((TOKEN, 1, 0, 3), shop, 1), signature)


def test_an_owner_skips_nonces_of_allowances(permit2: OnChain, people: People) -> None:
    buyer, shop = people.buyer.address, people.merchant.address
    receipt = permit2.send(buyer, "invalidateNonces", TOKEN, shop, 65535)
    skipped = (buyer, TOKEN.lower(), shop, 65535, 0)
    assert [(log.event, log.values) for log in receipt.logs] == [("NonceInvalidation", skipped)]
    for nonce in (65535, 1):
        with refused("InvalidNonce()"):
            permit2.send(buyer, "invalidateNonces", TOKEN, shop, nonce)
    with refused("ExcessiveInvalidation()"):
        permit2.send(buyer, "invalidateNonces", TOKEN, shop, 2 * 65535 + 1)
    permit2.send(buyer, "invalidateNonces", TOKEN, shop, 2 * 65535)


def test_wallet_signature_is_verified_by_erc1271(token: OnChain, permit2: OnChain, people: People) -> None:
    artifact, shop = double("Wallet"), people.merchant.address
    wallet = deploy(token.chain, people.stranger.address, artifact.creation(people.buyer.address), artifact.abi)
    token.send(people.buyer.address, "transfer", wallet.address, 10)
    approval = token.data("approve", addresses.PERMIT2, 10)
    wallet.send(people.buyer.address, "execute", token.address, approval)
    signature = Signing(permit2, people).transfer({"token": TOKEN, "amount": 10}, 0).packed
    permit = ((TOKEN, 10), 0, DEADLINE)
    with token.chain.rollback():
        wallet.send(people.stranger.address, "setAnswer", 1)
        with refused("InvalidContractSignature()"):
            permit2.send(shop, SINGLE, permit, (shop, 10), wallet.address, signature)
    permit2.send(shop, SINGLE, permit, (shop, 10), wallet.address, signature)
    assert token.call("balanceOf", shop) == 10


def test_a_failed_transfer_reverts(token: OnChain, permit2: OnChain, people: People) -> None:
    buyer, shop = people.buyer.address, people.merchant.address
    permit2.send(buyer, "approve", TOKEN, shop, UNLIMITED, DEADLINE)
    with refused("TRANSFER_FROM_FAILED"):
        permit2.send(shop, TRANSFER, buyer, shop, UNLIMITED, TOKEN)
    # The same for an address that is not a token.
    permit2.send(buyer, "approve", people.other.address, shop, 1, DEADLINE)
    with refused("TRANSFER_FROM_FAILED"):
        permit2.send(shop, TRANSFER, buyer, shop, 1, people.other.address)
    trick = deploy(token.chain, shop, double("TrickToken").creation(), double("TrickToken").abi)
    trick.send(shop, "mint", buyer, 5)
    trick.send(buyer, "approve", addresses.PERMIT2, 5)
    permit2.send(buyer, "approve", trick.address, shop, 5, DEADLINE)
    for play, fails in ((1, True), (2, False), (0, False)):
        trick.send(shop, "play", play, shop, b"")
        if fails:
            with refused("TRANSFER_FROM_FAILED"):
                permit2.send(shop, TRANSFER, buyer, shop, 1, trick.address)
        else:
            permit2.send(shop, TRANSFER, buyer, shop, 1, trick.address)
    assert trick.call("balanceOf", shop) == 2


def test_permit2_storage_matches_the_original(permit2: OnChain, people: People) -> None:
    buyer, shop = people.buyer.address, people.merchant.address
    permit2.send(buyer, "invalidateUnorderedNonces", 3, 9)
    permit2.send(buyer, "approve", TOKEN, shop, 50, DEADLINE)
    assert permit2.storage(at(0, buyer, 3)) == 9
    assert permit2.storage(at(1, buyer, TOKEN, shop)) == DEADLINE << 160 | 50
