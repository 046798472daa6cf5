"""A payment channel of the buyer to the merchant, with the signatures of both sides in the form of x402's packages."""

from dataclasses import dataclass, field
from typing import Any

from eth_abi.abi import encode
from eth_utils.crypto import keccak

from foreseal.payments.contracts import addresses, load
from foreseal.testing import TestAccount
from payments.contracts.onchain import OnChain, Receipt
from payments.contracts.people import CHAIN_ID, TOKEN, People
from payments.contracts.signing import Authorization, Domain, sign_digest, typed_digest

DEADLINE = 2_000_000_000
DELAY = 900
ZERO = "0x" + "00" * 20
# Domain and types of x402's packages.
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
    def config(self) -> tuple[Any, ...]:
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
        """Return balance and claimed total."""
        balance, claimed = self.contract.call("channels", self.id)
        return balance, claimed

    def deposit(self, amount: int, salt: int = 1, signed: int | None = None, channel: bytes | None = None) -> Receipt:
        """Deposit by EIP-3009, with the salt of the authorization."""
        return self.send("deposit", *self.deposit_arguments(amount, salt, signed, channel))

    def deposit_arguments(
        self, amount: int, salt: int = 1, signed: int | None = None, channel: bytes | None = None
    ) -> tuple[Any, ...]:
        """Return the arguments of such a deposit."""
        nonce = keccak(encode(["bytes32", "uint256"], [channel or self.id, salt]))
        payer, collector = self.people.buyer, addresses.ERC3009_DEPOSIT_COLLECTOR
        terms = Authorization(payer.address, collector, amount if signed is None else signed, 0, DEADLINE, nonce)
        signature = terms.signed(self.domain, payer.key, "ReceiveWithAuthorization").packed
        data = encode(["uint256", "uint256", "uint256", "bytes"], [0, DEADLINE, salt, signature])
        return (self.config, amount, collector, data)

    def voucher(self, maximum: int, total: int, signer: TestAccount | None = None) -> tuple[Any, ...]:
        """Return a claim of `total` by a voucher with this maximum."""
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

    def claim(self, *claims: tuple[Any, ...], sender: str | None = None) -> Receipt:
        return self.send("claim", list(claims), sender=sender or self.people.merchant.address)

    def but(self, **changes: Any) -> "Channel":
        """Return a channel with other terms."""
        return Channel(self.contract, self.token, self.domain, self.people, self.changes | changes)


def batch_signature(key: str, entries: list[tuple[bytes, int, int]]) -> bytes:
    """Return a signature over a batch of claims: channel, maximum and total of each."""
    names = ("channelId", "maxClaimableAmount", "totalClaimed")
    claims = [dict(zip(names, entry, strict=True)) for entry in entries]
    types = {"ClaimBatch": "ClaimEntry[] claims", "ClaimEntry": ENTRY}
    return sign_digest(key, typed_digest(DOMAIN, types, "ClaimBatch", {"claims": claims})).packed


def errors(name: str) -> list[dict[str, Any]]:
    """Return the errors of the called contracts, which the settlement contract propagates."""
    contract = "Permit2DepositCollector" if name == "DepositCollector" else name
    return [entry for entry in load(contract).abi if entry["type"] == "error"]


def events(receipt: Receipt) -> list[tuple[str, tuple[Any, ...]]]:
    return [(log.event, log.values) for log in receipt.logs]


def permit2_deposit(channel: Channel, amount: int, permit: bytes = b"", nonce: int = 1) -> Receipt:
    """Deposit over Permit2, signed with the channel as witness."""
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
