"""A batch capture contract on a chain, and payers who sign for it."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

from eth_account import Account
from eth_utils.address import to_checksum_address

from foreseal.client.requests import Request
from foreseal.payments.chain import ChainReceipt, RpcNode
from foreseal.payments.chain.batch_capture import BatchOutcome, captured_in_batch
from foreseal.payments.contracts import load
from foreseal.testing import Chain, TestAccount
from payments.contracts.onchain import OnChain, Receipt, deploy, receipt
from payments.contracts.people import People
from payments.contracts.signing import Authorization, Domain, Signature
from payments.contracts.slots import at

DEADLINE = 2_000_000_000
CAPTURE = "capture((address,uint256,uint256,uint256,bytes32,uint8,bytes32,bytes32)[])"
WALLETS = "captureFromWallets((address,uint256,uint256,uint256,bytes32,bytes)[],uint256)"


@dataclass(frozen=True)
class Signed:
    """An authorization with its signature."""

    terms: Authorization
    signature: Signature

    @property
    def key(self) -> tuple[str, bytes]:
        """Payer, with its checksum, and nonce."""
        return to_checksum_address(self.terms.payer), self.terms.nonce

    @property
    def parts(self) -> tuple[Any, ...]:
        """The struct of `capture`."""
        payer, _, *rest = self.terms.terms
        return (payer, *rest, *self.signature)

    @property
    def packed(self) -> tuple[Any, ...]:
        """The struct of `captureFromWallets`."""
        payer, _, *rest = self.terms.terms
        return (payer, *rest, self.signature.packed)


class Batches:
    """The contract, for a token."""

    def __init__(self, token: OnChain, domain: Domain, people: People) -> None:
        artifact = load("BatchCapture")
        creation = artifact.creation(token.address, people.merchant.address)
        placed = deploy(token.chain, people.stranger.address, creation, artifact.abi)
        errors = [entry for entry in token.abi if entry["type"] == "error"]
        self.contract = OnChain(token.chain, placed.address, [*artifact.abi, *errors])
        self.token, self.domain, self.people = token, domain, people
        self._nonces = count(1)

    def sign(self, payer: TestAccount, value: int, owner: TestAccount | None = None, **changes: Any) -> Signed:
        """Return an authorization of the payer, with a new nonce; the owner of a wallet signs for it."""
        nonce = next(self._nonces).to_bytes(4, "big") * 8
        terms = Authorization(payer.address, self.contract.address, value, 0, DEADLINE, nonce).but(**changes)
        return Signed(terms, terms.signed(self.domain, (owner or payer).key, "ReceiveWithAuthorization"))

    def capture(self, *batch: Signed, sender: str | None = None, gas: int | None = None) -> Receipt:
        """Capture a batch by the merchant."""
        data = self.contract.data(CAPTURE, [signed.parts for signed in batch])
        return self.send(data, sender, gas)

    def capture_wallets(self, *batch: Signed, call_gas: int = 200_000, gas: int | None = None) -> Receipt:
        """Capture a batch with signatures as bytes by the merchant."""
        data = self.contract.data(WALLETS, [signed.packed for signed in batch], call_gas)
        return self.send(data, gas=gas)

    def send(self, data: bytes, sender: str | None = None, gas: int | None = None) -> Receipt:
        """Send a transaction to the contract. Raise `Reverted` for one that reverts with its gas limit."""
        request: dict[str, Any] = {"from": sender or self.people.merchant.address, "data": data}
        request["to"] = self.contract.address
        if gas is not None:
            request["gas"] = hex(gas)
            self.contract._request("eth_call", request, "latest")
        sent = self.contract._request("eth_sendTransaction", request)
        return receipt(self.contract.chain, sent, self.contract)

    def outcome(self, sent: Receipt) -> BatchOutcome:
        """Return what the receipt proves, by the client's own reading."""
        return self.read(chain_receipt(self.contract.chain, sent))

    def read(self, mined_receipt: ChainReceipt) -> BatchOutcome:
        addresses = (self.token.address, self.contract.address, self.people.merchant.address)
        return captured_in_batch(mined_receipt, *map(to_checksum_address, addresses))

    def failures(self, sent: Receipt) -> dict[tuple[str, bytes], str]:
        """Return the reason of each failure."""
        return {key: failed.reason for key, failed in self.outcome(sent).failed.items()}

    def received(self) -> int:
        """Balance of the merchant."""
        return int(self.token.call("balanceOf", self.people.merchant.address))

    def held(self) -> int:
        """Balance of the contract."""
        return int(self.token.call("balanceOf", self.contract.address))

    def used(self, signed: Signed) -> bool:
        """Return True if the nonce is used or canceled."""
        return bool(self.token.call("authorizationState", signed.terms.payer, signed.terms.nonce))


@dataclass(frozen=True)
class _ChainClient:
    chain: Chain

    def request(self, method: str, *params: Any) -> Any:
        return self.chain.rpc(method, *params)

    def batch(self, requests: Sequence[Request[Any]], *, return_errors: bool = False) -> list[Any]:
        return [self.request(request.method, *request.params) for request in requests]


def chain_receipt(chain: Chain, sent: Receipt) -> ChainReceipt:
    """Return a receipt as the payment code reads it from a node."""
    mined_receipt = RpcNode(_ChainClient(chain)).receipt(sent.hash)
    assert mined_receipt is not None
    return mined_receipt


def payers(number: int) -> Sequence[TestAccount]:
    """Return accounts that have never been used, the same each time."""
    keys = [f"0x{0xFACE0000 + index:064x}" for index in range(number)]
    return [TestAccount(Account.from_key(key).address.lower(), key) for key in keys]


def give(token: OnChain, account: TestAccount, amount: int) -> None:
    """Set an account's balance of the token."""
    slot = at(load("PaymentToken").variable("_balanceAndBlacklist").slot, account.address)
    token.chain.rpc("anvil_setStorageAt", token.address, hex(slot), f"0x{amount:064x}")
