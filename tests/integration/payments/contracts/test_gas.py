"""Gas costs: the table in docs/merchants/contracts.md has the costs measured here."""

import re
from collections.abc import Iterator

from foreseal.payments.contracts import addresses, load
from payments.contracts.batches import Batches, give, payers
from payments.contracts.onchain import OnChain, Receipt, deploy
from payments.contracts.people import CHAIN_ID, TOKEN, People, setup_of
from payments.contracts.signing import Authorization, Domain, sign_digest, typed_digest
from repository import DOCS

PAGE = DOCS / "merchants" / "contracts.md"
DEADLINE = 2_000_000_000
BATCH = b"\x01".rjust(32, b"\0")
FRESH = [f"0x{0xFEED0000 + index:040x}" for index in range(100)]


class Bench:
    """A chain that executes operations one after the other and records their gas."""

    def __init__(self, token: OnChain, domain: Domain, people: People) -> None:
        self.token, self.domain, self.people = token, domain, people
        self.buyer, self.shop, self.anybody = (
            account.address for account in (people.buyer, people.merchant, people.stranger)
        )

    def authorization(self, nonce: int, kind: str = "Receive", payee: str | None = None) -> tuple[tuple, bytes]:
        """Return terms and signature; nonces have no zero byte."""
        terms = Authorization(self.buyer, payee or self.shop, 10_000, 0, DEADLINE, bytes([nonce]) * 32)
        return terms.terms, terms.signed(self.domain, self.people.buyer.key, f"{kind}WithAuthorization").packed

    def split_signature(self, signature: bytes) -> tuple[int, bytes, bytes]:
        return signature[64], signature[:32], signature[32:64]

    def permit(self, spender: str, value: int, nonce: int) -> tuple[int, bytes, bytes]:
        terms = {"owner": self.buyer, "spender": spender, "value": value, "nonce": nonce, "deadline": DEADLINE}
        return self.domain.sign(self.people.buyer.key, "Permit", **terms)

    def deploy(self, contract: str, *arguments: str) -> OnChain:
        artifact = load(contract)
        return deploy(self.token.chain, self.anybody, artifact.creation(*arguments), artifact.abi)

    def transfers(self) -> Iterator[tuple[str, Receipt]]:
        send, other = self.token.send, self.people.other.address
        yield "`transfer` to a fresh recipient", send(self.buyer, "transfer", FRESH[0], 10_000)
        yield "`transfer` after that", send(self.buyer, "transfer", FRESH[0], 10_000)
        yield "`transferWithMemo`", send(self.buyer, "transferWithMemo", FRESH[0], 10_000, b"\x11" * 32)
        yield "`approve`", send(self.buyer, "approve", self.shop, 50_000)
        yield "`transferFrom`", send(self.shop, "transferFrom", self.buyer, other, 10_000)
        permit = self.permit(self.anybody, 10_000, 0)
        arguments = (self.buyer, self.anybody, 10_000, DEADLINE, *permit)
        yield "`permit`, the owner's first", send(self.anybody, "permit", *arguments)

    def authorizations(self) -> Iterator[tuple[str, Receipt]]:
        send, name = self.token.send, "receiveWithAuthorization"
        for nonce, when in ((1, "to a fresh recipient"), (2, "after that")):
            terms, signature = self.authorization(nonce)
            yield f"`{name}` {when}", send(self.shop, name, *terms, *self.split_signature(signature))
        terms, signature = self.authorization(3)
        yield f"`{name}`, signature as bytes", send(self.shop, name, *terms, signature)
        terms, signature = self.authorization(4, "Transfer")
        name = "transferWithAuthorization"
        yield f"`{name}`", send(self.anybody, name, *terms, *self.split_signature(signature))
        nonce = b"\x05" * 32
        signed = self.domain.sign(self.people.buyer.key, "CancelAuthorization", authorizer=self.buyer, nonce=nonce)
        yield "`cancelAuthorization`", send(self.anybody, "cancelAuthorization", self.buyer, nonce, *signed)

    def policies(self) -> Iterator[tuple[str, Receipt]]:
        send, owner = self.token.send, self.people.owner.address
        policy = send(owner, "createPolicy", 1, [self.buyer, self.shop]).logs[0].values[0]
        for name in ("TRANSFER_SENDER_POLICY", "TRANSFER_RECEIVER_POLICY", "TRANSFER_EXECUTOR_POLICY"):
            send(owner, "updatePolicy", bytes.fromhex(self.token.call(name)[2:]), policy)
        terms, signature = self.authorization(6)
        arguments = (*terms, *self.split_signature(signature))
        label = "`receiveWithAuthorization`, three policies in force"
        yield label, send(self.shop, "receiveWithAuthorization", *arguments)
        for name in ("TRANSFER_SENDER_POLICY", "TRANSFER_RECEIVER_POLICY", "TRANSFER_EXECUTOR_POLICY"):
            send(owner, "updatePolicy", bytes.fromhex(self.token.call(name)[2:]), 0)

    def merchant(self) -> Iterator[tuple[str, Receipt]]:
        checkout = self.deploy("Checkout", TOKEN, self.shop)
        for nonce, what in ((1, "the payer's first"), (2, "after that"), (3, "permit submitted before")):
            signature = self.permit(checkout.address, 10_000, nonce)
            if nonce == 3:
                self.token.send(self.anybody, "permit", self.buyer, checkout.address, 10_000, DEADLINE, *signature)
            order = bytes([nonce]) * 32
            receipt = checkout.send(self.shop, "capture", order, self.buyer, 7_000, 10_000, DEADLINE, *signature)
            yield f"`Checkout.capture`, {what}", receipt
        payouts = self.deploy("Payouts", TOKEN)
        self.token.send(self.buyer, "approve", payouts.address, 2**255)
        for count in (1, 100):
            batch, recipients = bytes([count]) * 32, FRESH[1 : 1 + count] if count == 1 else FRESH
            receipt = payouts.send(self.buyer, "sendPayouts", batch, recipients, [10_000] * count)
            yield f"`Payouts.sendPayouts`, {count} recipient{'s' if count > 1 else ''}", receipt
        receipt = payouts.send(self.buyer, "splitPayment", BATCH, 10**6, FRESH, [100] * 100, 0)
        yield "`Payouts.splitPayment`, 100 recipients that have some", receipt

    def batches(self) -> Iterator[tuple[str, Receipt]]:
        """Payers pay for the first time; the contract is new for each batch."""
        for nonce, number in ((1, 1), (2, 50), (3, 200)):
            batches, accounts = Batches(self.token, self.domain, self.people), payers(number)
            for account in accounts:
                give(self.token, account, 1_000_000)
            batch = [batches.sign(account, 10_000, nonce=bytes([nonce]) * 32) for account in accounts]
            receipt = batches.capture(*batch)
            assert receipt.logs == []
            yield f"`BatchCapture.capture`, {number} payer{'s' if number > 1 else ''}", receipt

    def exact(self) -> Iterator[tuple[str, Receipt]]:
        self.token.send(self.buyer, "approve", addresses.PERMIT2, 2**255)
        proxy = OnChain(self.token.chain, addresses.EXACT_PERMIT2_PROXY, load("ExactPermit2Proxy").abi)
        types = {
            "PermitWitnessTransferFrom": (
                "TokenPermissions permitted,address spender,uint256 nonce,uint256 deadline,Witness witness"
            ),
            "TokenPermissions": "address token,uint256 amount",
            "Witness": "address to,uint256 validAfter",
        }
        nonce = int.from_bytes(b"\x07" * 32, "big")
        message = {
            "permitted": {"token": TOKEN, "amount": 10_000},
            "spender": proxy.address,
            "nonce": nonce,
            "deadline": DEADLINE,
            "witness": {"to": self.shop, "validAfter": 0},
        }
        domain = {"name": "Permit2", "chainId": CHAIN_ID, "verifyingContract": addresses.PERMIT2}
        digest = typed_digest(domain, types, "PermitWitnessTransferFrom", message)
        signature = sign_digest(self.people.buyer.key, digest).packed
        arguments = (((TOKEN, 10_000), nonce, DEADLINE), self.buyer, (self.shop, 0), signature)
        yield "`ExactPermit2Proxy.settle`", proxy.send(self.anybody, "settle", *arguments)


def measured(token: OnChain, domain: Domain, people: People) -> dict[str, int]:
    bench = Bench(token, domain, people)
    parts = (bench.transfers, bench.authorizations, bench.policies, bench.merchant, bench.batches, bench.exact)
    gas = {name: receipt.gas_used for part in parts for name, receipt in part()}
    created = {
        "PaymentToken": setup_of(people).creation(),
        "Checkout": load("Checkout").creation(TOKEN, people.merchant.address),
        "Payouts": load("Payouts").creation(TOKEN),
        "BatchCapture": load("BatchCapture").creation(TOKEN, people.merchant.address),
    }
    for contract, creation in created.items():
        request = {"from": people.stranger.address, "data": creation}
        sent = token.chain.rpc("eth_sendTransaction", request)
        receipt = token.chain.rpc("eth_getTransactionReceipt", sent)
        gas[f"creating `{contract}`"] = int(receipt["gasUsed"], 16)
    return gas


def test_published_gas_costs_are_current(token: OnChain, domain: Domain, people: People) -> None:
    gas = measured(token, domain, people)
    table = PAGE.read_text().partition("<!-- gas -->")[2].partition("<!-- end -->")[0]
    published = {
        name: int(cost.replace(",", "")) for name, cost in re.findall(r"^\| (.+) \| ([\d,]+) \|$", table, re.M)
    }
    assert published == gas, "\n" + "\n".join(f"| {name} | {cost:,} |" for name, cost in gas.items())
    # Published costs of FiatTokenV2_2.
    assert gas["`receiveWithAuthorization` to a fresh recipient"] <= 95_568
    assert gas["`receiveWithAuthorization` after that"] <= 78_840
