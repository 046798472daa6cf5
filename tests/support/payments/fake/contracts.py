"""The token and the payouts contract as rules on dictionaries, written from their description, not from the library.

Order of the checks and texts of the reverts are those of FiatTokenV2_2.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from eth_abi.abi import decode, encode
from eth_keys.datatypes import Signature
from eth_keys.exceptions import BadSignature
from eth_utils.crypto import keccak
from eth_utils.exceptions import ValidationError

from payments.people import BATCH_CAPTURE, SHOP

TOKEN = "0x036cbd53842c5426634e7929541ec2318f3dcf7e"
PAYOUTS = "0x00000000000000000000000000000000000a7007"
BATCH = BATCH_CAPTURE.lower()
CALL_GAS = 200_000
NAME, VERSION = "USD Coin", "2"


def topic(text: str) -> bytes:
    return keccak(text=text)


def selector(text: str) -> bytes:
    return topic(text)[:4]


def call_data(signature: str, *values: object) -> bytes:
    """Return the data of a call by its signature, without tuple arguments."""
    kinds = signature.partition("(")[2].removesuffix(")").split(",")
    return selector(signature) + encode(kinds, values)


def padded(address: str) -> bytes:
    return bytes(12) + bytes.fromhex(address[2:])


Event = tuple[str, tuple[bytes, ...], bytes]
"""Contract, topics, data."""


class Revert(Exception):
    """A revert: the transaction changes only its account nonce."""

    def __init__(self, reason: str, data: bytes | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.data = selector("Error(string)") + encode(["string"], [reason]) if data is None else data


@dataclass
class State:
    """Storage of the contracts and account nonces at one moment. Addresses in lower case."""

    balances: dict[str, int] = field(default_factory=dict)
    used: set[tuple[str, bytes]] = field(default_factory=set)
    allowances: dict[tuple[str, str], int] = field(default_factory=dict)
    blacklisted: set[str] = field(default_factory=set)
    batches: set[tuple[str, bytes]] = field(default_factory=set)
    nonces: dict[str, int] = field(default_factory=dict)
    paused: bool = False
    policy_forbids: set[str] = field(default_factory=set)

    def copy(self) -> "State":
        return State(
            dict(self.balances),
            set(self.used),
            dict(self.allowances),
            set(self.blacklisted),
            set(self.batches),
            dict(self.nonces),
            self.paused,
            set(self.policy_forbids),
        )


@dataclass
class Call:
    """One call of a contract, on a state that is discarded if the call reverts."""

    state: State
    chain_id: int
    wallets: dict[str, str]
    sender: str
    time: int
    events: list[Event] = field(default_factory=list)

    def execute(self, to: str, data: bytes) -> bytes:
        """Return the output. Raise `Revert`."""
        entry = FUNCTIONS.get((to, data[:4]))
        if entry is None:
            raise Revert("unknown function")
        kinds, function = entry
        return function(self, *decode(kinds, data[4:]))

    def separator(self) -> bytes:
        fields = "EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)"
        kinds = ["bytes32", "bytes32", "bytes32", "uint256", "address"]
        return keccak(encode(kinds, [topic(fields), topic(NAME), topic(VERSION), self.chain_id, TOKEN]))

    def signed(self, signer: str, structure: bytes, signature: bytes) -> None:
        digest = keccak(b"\x19\x01" + self.separator() + keccak(structure))
        if not accepts(self.wallets.get(signer), signer, digest, signature):
            raise Revert("FiatTokenV2: invalid signature")

    def receive(self, *given: Any) -> bytes:
        """Execute receiveWithAuthorization."""
        return self.authorized("ReceiveWithAuthorization", *given)

    def transfer_authorized(self, *given: Any) -> bytes:
        """Execute transferWithAuthorization."""
        return self.authorized("TransferWithAuthorization", *given)

    def authorized(self, name: str, *given: Any) -> bytes:
        payer, payee, value, after, before, nonce, signature = given
        self.unpaused()
        self.allowed(payer, payee)
        if name == "ReceiveWithAuthorization" and self.sender != payee:
            raise Revert("FiatTokenV2: caller must be the payee")
        if not self.time > after:
            raise Revert("FiatTokenV2: authorization is not yet valid")
        if not self.time < before:
            raise Revert("FiatTokenV2: authorization is expired")
        if (payer, nonce) in self.state.used:
            raise Revert("FiatTokenV2: authorization is used or canceled")
        fields = "address from,address to,uint256 value,uint256 validAfter,uint256 validBefore,bytes32 nonce"
        kinds = ["bytes32", "address", "address", "uint256", "uint256", "uint256", "bytes32"]
        type_hash = topic(f"{name}({fields})")
        self.signed(payer, encode(kinds, [type_hash, payer, payee, value, after, before, nonce]), signature)
        self.state.used.add((payer, nonce))
        self.events.append((TOKEN, (topic("AuthorizationUsed(address,bytes32)"), padded(payer), nonce), b""))
        self.move(payer, payee, value)
        return b""

    def cancel(self, payer: str, nonce: bytes, signature: bytes) -> bytes:
        """Execute cancelAuthorization."""
        self.unpaused()
        if (payer, nonce) in self.state.used:
            raise Revert("FiatTokenV2: authorization is used or canceled")
        type_hash = topic("CancelAuthorization(address authorizer,bytes32 nonce)")
        self.signed(payer, encode(["bytes32", "address", "bytes32"], [type_hash, payer, nonce]), signature)
        self.state.used.add((payer, nonce))
        self.events.append((TOKEN, (topic("AuthorizationCanceled(address,bytes32)"), padded(payer), nonce), b""))
        return b""

    def transfer(self, recipient: str, amount: int) -> bytes:
        self.unpaused()
        self.allowed(self.sender, recipient)
        self.move(self.sender, recipient, amount)
        return encode(["bool"], [True])

    def transfer_with_memo(self, recipient: str, amount: int, memo: bytes) -> bytes:
        answer = self.transfer(recipient, amount)
        self.events.append((TOKEN, (topic("Memo(address,bytes32)"), padded(self.sender), memo), b""))
        return answer

    def approve(self, spender: str, amount: int) -> bytes:
        self.unpaused()
        self.state.allowances[self.sender, spender] = amount
        return encode(["bool"], [True])

    def send_payouts(self, batch: bytes, recipients: Sequence[str], amounts: Sequence[int]) -> bytes:
        """Execute sendPayouts of the payouts contract."""
        if (self.sender, batch) in self.state.batches:
            raise Revert("", selector("BatchAlreadyProcessed(bytes32)") + batch)
        self.state.batches.add((self.sender, batch))
        self.unpaused()
        for recipient, amount in zip(recipients, amounts, strict=True):
            self.allowed(self.sender, recipient)
            left = self.state.allowances.get((self.sender, PAYOUTS), 0)
            if left < amount:
                raise Revert("ERC20: transfer amount exceeds allowance")
            self.state.allowances[self.sender, PAYOUTS] = left - amount
            self.move(self.sender, recipient, amount)
            name = topic("PayoutSent(bytes32,address,address,uint256)")
            topics = (name, batch, padded(self.sender), padded(recipient))
            self.events.append((PAYOUTS, topics, encode(["uint256"], [amount])))
        return b""

    def capture_parts(self, items: Sequence[Any]) -> bytes:
        """Execute capture of the batch capture contract."""
        return self.capture_each([(*each[:5], each[6] + each[7] + bytes([each[5]])) for each in items])

    def capture_from_wallets(self, items: Sequence[Any], call_gas: int) -> bytes:
        """Execute captureFromWallets of the batch capture contract."""
        if call_gas < CALL_GAS:
            raise Revert("", selector("InvalidCallGas()"))
        return self.capture_each(items)

    def capture_each(self, items: Sequence[Any]) -> bytes:
        self.only_merchant()
        if not 1 <= len(items) <= 200:
            raise Revert("", selector("InvalidBatchSize()"))
        captured = 0
        for payer, value, after, before, nonce, signature in items:
            try:
                self.nested(
                    lambda call, *given: call.receive(*given), payer, BATCH, value, after, before, nonce, signature
                )
            except Revert as error:
                topics = (topic("CaptureFailed(address,bytes32,bytes)"), padded(payer), nonce)
                self.events.append((BATCH, topics, encode(["bytes"], [error.data[:256]])))
            else:
                captured += value
        if captured:
            self.nested(lambda call: call.transfer(SHOP.address.lower(), captured))
        return b""

    def sweep(self) -> bytes:
        """Execute sweep of the batch capture contract."""
        self.only_merchant()
        amount = self.state.balances.get(BATCH, 0)
        if amount == 0:
            raise Revert("", selector("ZeroAmount()"))
        return self.nested(lambda call: call.transfer(SHOP.address.lower(), amount))

    def only_merchant(self) -> None:
        if self.sender != SHOP.address.lower():
            raise Revert("", selector("NotMerchant()"))

    def nested(self, execute: Callable[..., bytes], *given: Any) -> bytes:
        """Execute a call of the batch capture contract. If it reverts, it has no effect."""
        inner = Call(self.state.copy(), self.chain_id, self.wallets, BATCH, self.time)
        output = execute(inner, *given)
        self.state.balances, self.state.used = inner.state.balances, inner.state.used
        self.events += inner.events
        return output

    def unpaused(self) -> None:
        if self.state.paused:
            raise Revert("Pausable: paused")

    def allowed(self, sender: str, recipient: str) -> None:
        if any(holder in self.state.blacklisted for holder in (sender, recipient)):
            raise Revert("Blacklistable: account is blacklisted")
        for scope, holder in (("TRANSFER_SENDER_POLICY", sender), ("TRANSFER_RECEIVER_POLICY", recipient)):
            if holder in self.state.policy_forbids:
                given = encode(["bytes32", "uint64"], [topic(scope), 2])
                raise Revert("", selector("PolicyForbids(bytes32,uint64)") + given)

    def move(self, sender: str, recipient: str, amount: int) -> None:
        balances = self.state.balances
        if balances.get(sender, 0) < amount:
            raise Revert("ERC20: transfer amount exceeds balance")
        balances[sender] = balances.get(sender, 0) - amount
        balances[recipient] = balances.get(recipient, 0) + amount
        name = topic("Transfer(address,address,uint256)")
        self.events.append((TOKEN, (name, padded(sender), padded(recipient)), encode(["uint256"], [amount])))


def accepts(owner: str | None, signer: str, digest: bytes, signature: bytes) -> bool:
    """Return True if the signature is valid for the key, or for a wallet's owner (ERC-1271)."""
    if len(signature) != 65 or signature[64] not in (27, 28):
        return False
    try:
        key = Signature(signature[:64] + bytes([signature[64] - 27])).recover_public_key_from_msg_hash(digest)
    except (BadSignature, ValidationError):
        return False
    return bool(key.to_address() == (signer if owner is None else owner))


def _view(kinds: list[str], read: Callable[..., object]) -> tuple[list[str], Callable[..., bytes]]:
    return kinds, lambda call, *given: encode(["uint256"], [int(read(call, *given))])  # type: ignore[call-overload]


_PARTS = "(address,uint256,uint256,uint256,bytes32,uint8,bytes32,bytes32)"
_BYTES = "(address,uint256,uint256,uint256,bytes32,bytes)"
FUNCTIONS: dict[tuple[str, bytes], tuple[list[str], Callable[..., bytes]]] = {
    (TOKEN, selector("receiveWithAuthorization(address,address,uint256,uint256,uint256,bytes32,bytes)")): (
        ["address", "address", "uint256", "uint256", "uint256", "bytes32", "bytes"],
        Call.receive,
    ),
    (TOKEN, selector("transferWithAuthorization(address,address,uint256,uint256,uint256,bytes32,bytes)")): (
        ["address", "address", "uint256", "uint256", "uint256", "bytes32", "bytes"],
        Call.transfer_authorized,
    ),
    (TOKEN, selector("cancelAuthorization(address,bytes32,bytes)")): (["address", "bytes32", "bytes"], Call.cancel),
    (TOKEN, selector("transfer(address,uint256)")): (["address", "uint256"], Call.transfer),
    (TOKEN, selector("transferWithMemo(address,uint256,bytes32)")): (
        ["address", "uint256", "bytes32"],
        Call.transfer_with_memo,
    ),
    (TOKEN, selector("approve(address,uint256)")): (["address", "uint256"], Call.approve),
    (PAYOUTS, selector("sendPayouts(bytes32,address[],uint256[])")): (
        ["bytes32", "address[]", "uint256[]"],
        Call.send_payouts,
    ),
    (BATCH, selector(f"capture({_PARTS}[])")): ([f"{_PARTS}[]"], Call.capture_parts),
    (BATCH, selector(f"captureFromWallets({_BYTES}[],uint256)")): (
        [f"{_BYTES}[]", "uint256"],
        Call.capture_from_wallets,
    ),
    (BATCH, selector("sweep()")): ([], Call.sweep),
    (BATCH, selector("token()")): ([], lambda call: padded(TOKEN)),
    (BATCH, selector("merchant()")): ([], lambda call: padded(SHOP.address)),
    (TOKEN, selector("authorizationState(address,bytes32)")): _view(
        ["address", "bytes32"], lambda call, payer, nonce: (payer, nonce) in call.state.used
    ),
    (TOKEN, selector("balanceOf(address)")): _view(
        ["address"], lambda call, holder: call.state.balances.get(holder, 0)
    ),
    (TOKEN, selector("allowance(address,address)")): _view(
        ["address", "address"], lambda call, owner, spender: call.state.allowances.get((owner, spender), 0)
    ),
    (TOKEN, selector("paused()")): _view([], lambda call: call.state.paused),
    (TOKEN, selector("isBlacklisted(address)")): _view(
        ["address"], lambda call, holder: holder in call.state.blacklisted
    ),
    (TOKEN, selector("policyId(bytes32)")): _view(["bytes32"], lambda call, scope: bool(call.state.policy_forbids)),
    (TOKEN, selector("isAuthorized(uint64,address)")): _view(
        ["uint64", "address"], lambda call, policy, holder: holder not in call.state.policy_forbids
    ),
    (TOKEN, selector("DOMAIN_SEPARATOR()")): ([], Call.separator),
}
