"""Client side of the token: call data and logs (ERC-20, EIP-3009, memo; revert strings as in FiatTokenV2_2)."""

from collections.abc import Sequence
from dataclasses import dataclass

from eth_abi.abi import encode
from eth_utils.address import to_checksum_address
from eth_utils.crypto import keccak

from foreseal.payments.chain.errors import Incomplete, Reverted
from foreseal.payments.chain.node import BlockTag, ChainLog, ChainNode, ChainReceipt
from foreseal.payments.contracts.token import domain_separator
from foreseal.payments.typed_data import Cancellation, Domain, TransferMessage

RECEIVE = bytes.fromhex("88b7ab63")
CANCEL = bytes.fromhex("b7b72899")
TRANSFER = bytes.fromhex("a9059cbb")
AUTHORIZATION_STATE = bytes.fromhex("e94a0102")
BALANCE_OF = bytes.fromhex("70a08231")
ALLOWANCE = bytes.fromhex("dd62ed3e")
PAUSED = bytes.fromhex("5c975abb")
IS_BLACKLISTED = bytes.fromhex("fe575a87")
DOMAIN_SEPARATOR = bytes.fromhex("3644e515")
IS_VALID_SIGNATURE = bytes.fromhex("1626ba7e")
SEND_PAYOUTS = bytes.fromhex("f318af5f")
PERMIT_NONCES = bytes.fromhex("7ecebe00")
POLICY_ID = bytes.fromhex("db3de624")
IS_AUTHORIZED = bytes.fromhex("55a1179e")

POLICY_FORBIDS = bytes.fromhex("a43fec12")
"""Selector of the error PolicyForbids(bytes32,uint64), which a holder policy raises."""
SENDER_POLICY = keccak(text="TRANSFER_SENDER_POLICY")
EXECUTOR_POLICY = keccak(text="TRANSFER_EXECUTOR_POLICY")
RECEIVER_POLICY = keccak(text="TRANSFER_RECEIVER_POLICY")
"""Scope, the first word of the error, if a policy forbids the recipient."""
BLACKLISTED = "Blacklistable: account is blacklisted"
"""Revert text for a blacklisted account."""

SIGNATURES = {
    RECEIVE: "receiveWithAuthorization(address,address,uint256,uint256,uint256,bytes32,bytes)",
    CANCEL: "cancelAuthorization(address,bytes32,bytes)",
    TRANSFER: "transfer(address,uint256)",
    AUTHORIZATION_STATE: "authorizationState(address,bytes32)",
    BALANCE_OF: "balanceOf(address)",
    ALLOWANCE: "allowance(address,address)",
    PAUSED: "paused()",
    IS_BLACKLISTED: "isBlacklisted(address)",
    DOMAIN_SEPARATOR: "DOMAIN_SEPARATOR()",
    IS_VALID_SIGNATURE: "isValidSignature(bytes32,bytes)",
    SEND_PAYOUTS: "sendPayouts(bytes32,address[],uint256[])",
    PERMIT_NONCES: "nonces(address)",
    POLICY_ID: "policyId(bytes32)",
    IS_AUTHORIZED: "isAuthorized(uint64,address)",
    POLICY_FORBIDS: "PolicyForbids(bytes32,uint64)",
}
"""Function signature behind each selector."""

TRANSFERRED = keccak(text="Transfer(address,address,uint256)")
AUTHORIZATION_USED = keccak(text="AuthorizationUsed(address,bytes32)")
CANCELED = keccak(text="AuthorizationCanceled(address,bytes32)")
MEMO = bytes.fromhex("6989f5818dcfd11f8cd53b27c94cec33dae1589735f03e639cba54553a1825e8")
PAYMENT_CAPTURED = bytes.fromhex("099bbc1f94190f78ec3955750f0e155226c32f3b3db90885d51f8737c7c0ec76")
PAYOUT_SENT = bytes.fromhex("e50d87119ceb02f3aa30a83e96b007c343e37d38e4f720be35f408d0477995fb")

_WORD_SIZE = 32


@dataclass(frozen=True, slots=True)
class Transfer:
    """A transfer from the logs of a receipt, with the authorization, memo or capture in the adjacent log."""

    log: ChainLog
    position: int
    """Index of the Transfer among the transaction's logs.

    With the transaction hash it identifies the transfer in any block.
    """
    sender: str
    recipient: str
    amount: int
    nonce: bytes | None
    """Nonce of the authorization by `sender` that it used.

    For a capture by a checkout: the order's 32-byte id there.
    """
    memo: bytes | None
    checkout: str | None = None
    """Checkout that captured it (PaymentCaptured). `nonce` then belongs to the checkout, not to the token."""


def transfers(receipt: ChainReceipt, token: str) -> list[Transfer]:
    """Return all transfers of a token in a receipt. A reverted transaction has none."""
    if not receipt.succeeded:
        return []
    return [
        _transfer(receipt.logs, position)
        for position, log in enumerate(receipt.logs)
        if log.address == token and len(log.topics) == 3 and log.topics[0] == TRANSFERRED
    ]


def _transfer(logs: Sequence[ChainLog], position: int) -> Transfer:
    log = logs[position]
    before = logs[position - 1] if position else None
    after = logs[position + 1] if position + 1 < len(logs) else None
    nonce = memo = checkout = None
    if (
        before is not None
        and before.address == log.address
        and _is(before, AUTHORIZATION_USED)
        and before.topics[1] == log.topics[1]
    ):
        nonce = before.topics[2]
    if after is not None and after.address == log.address and _is(after, MEMO):
        memo = after.topics[2]
    elif after is not None and nonce is None and _captures(after, log):
        nonce, checkout = after.topics[1], after.address
    sender, recipient = topic_address(log.topics[1]), topic_address(log.topics[2])
    return Transfer(log, position, sender, recipient, int.from_bytes(log.data[:32], "big"), nonce, memo, checkout)


def _captures(after: ChainLog, transfer: ChainLog) -> bool:
    """Return True if a log is the PaymentCaptured of the transfer before it, with the same payer and amount."""
    return (
        _is(after, PAYMENT_CAPTURED) and after.topics[2] == transfer.topics[1] and after.data[:32] == transfer.data[:32]
    )


def _is(log: ChainLog, topic: bytes) -> bool:
    return len(log.topics) == 3 and log.topics[0] == topic


def canceled(receipt: ChainReceipt, token: str, payer: str, nonce: bytes) -> bool:
    """Return True if the receipt's logs show that the authorization was canceled."""
    topics = (CANCELED, address_topic(payer), nonce)
    return receipt.succeeded and any(log.address == token and log.topics == topics for log in receipt.logs)


def payouts_sent(receipt: ChainReceipt, contract: str, batch: bytes) -> list[tuple[str, int]]:
    """Return recipients and amounts of a batch from the logs of a receipt."""
    return [
        (topic_address(log.topics[3]), int.from_bytes(log.data[:32], "big"))
        for log in receipt.logs
        if receipt.succeeded and log.address == contract and log.topics[:2] == (PAYOUT_SENT, batch)
    ]


def topic_address(topic: bytes) -> str:
    """Return the address in a topic."""
    return to_checksum_address(topic[12:])


def address_topic(address: str) -> bytes:
    """Encode an address as a topic."""
    return bytes(12) + bytes.fromhex(address[2:])


def receive_call(signed: TransferMessage, signature: bytes) -> bytes:
    """Return the call data of receiveWithAuthorization, in the form that also accepts contract signatures."""
    kinds = ["address", "address", "uint256", "uint256", "uint256", "bytes32", "bytes"]
    return RECEIVE + encode(kinds, [*signed.values().values(), signature])


def cancel_call(signed: Cancellation, signature: bytes) -> bytes:
    """Return the call data of cancelAuthorization."""
    return CANCEL + encode(["address", "bytes32", "bytes"], [signed.authorizer, signed.nonce, signature])


def transfer_call(recipient: str, amount: int) -> bytes:
    """Return the call data of transfer."""
    return TRANSFER + encode(["address", "uint256"], [recipient, amount])


def payouts_call(batch: bytes, legs: Sequence[tuple[str, int]]) -> bytes:
    """Return the call data of sendPayouts."""
    recipients, amounts = [leg[0] for leg in legs], [leg[1] for leg in legs]
    return SEND_PAYOUTS + encode(["bytes32", "address[]", "uint256[]"], [batch, recipients, amounts])


def separator(domain: Domain) -> bytes:
    """Return the domain separator (EIP-712) of a token with this domain."""
    return domain_separator(domain.name, domain.version, domain.chain_id, domain.contract)


@dataclass(frozen=True, slots=True)
class Token:
    """Read access to a token contract as of a block. Every method may raise the node's errors and `Reverted`."""

    node: ChainNode
    address: str

    def authorization_used(self, payer: str, nonce: bytes, block: BlockTag) -> bool:
        """Return True if an authorization is used or canceled. Only the token's logs distinguish the two."""
        return bool(self._number(AUTHORIZATION_STATE + encode(["address", "bytes32"], [payer, nonce]), block))

    def balance(self, holder: str, block: BlockTag) -> int:
        """Return the balance in smallest units."""
        return self._number(BALANCE_OF + encode(["address"], [holder]), block)

    def allowance(self, owner: str, spender: str, block: BlockTag) -> int:
        """Return the allowance in smallest units."""
        return self._number(ALLOWANCE + encode(["address", "address"], [owner, spender]), block)

    def paused(self, block: BlockTag) -> bool:
        """Return True if the token is paused and no tokens can move."""
        return bool(self._number(PAUSED, block))

    def blacklisted(self, holder: str, block: BlockTag) -> bool:
        """Return True if the account may neither send nor receive."""
        return bool(self._number(IS_BLACKLISTED + encode(["address"], [holder]), block))

    def permit_nonce(self, owner: str, block: BlockTag) -> int:
        """Return the nonce that the owner's next permit must have (EIP-2612)."""
        return self._number(PERMIT_NONCES + encode(["address"], [owner]), block)

    def policy(self, scope: bytes, block: BlockTag) -> int | None:
        """Return the holder policy of a scope. None if it restricts no account, or if the token has no policies."""
        try:
            return self._number(POLICY_ID + encode(["bytes32"], [scope]), block) or None
        except (Reverted, Incomplete):  # the token has no such function
            return None

    def authorized(self, policy: int, holder: str, block: BlockTag) -> bool:
        """Return True if a holder policy allows an account."""
        return bool(self._number(IS_AUTHORIZED + encode(["uint64", "address"], [policy, holder]), block))

    def domain_separator(self, block: BlockTag) -> bytes:
        """Return the domain separator of the token's signatures (EIP-712)."""
        return self.node.call(self.address, DOMAIN_SEPARATOR, block)

    def _number(self, data: bytes, block: BlockTag) -> int:
        return answered(self.node, self.address, data, block)


def answered(node: ChainNode, contract: str, data: bytes, block: BlockTag) -> int:
    """Return the number that a contract returns.

    Raises `Incomplete` if the result has less than a word, `Reverted`, and the node's errors.
    """
    answer = node.call(contract, data, block)
    if len(answer) < _WORD_SIZE:
        raise Incomplete(f"{contract} returned {len(answer)} bytes: the contract does not exist at block {block}")
    return int.from_bytes(answer[:_WORD_SIZE], "big")


def wallet_accepts(node: ChainNode, wallet: str, digest: bytes, signature: bytes, block: BlockTag) -> bool:
    """Return True if a wallet with code accepts a signature as its own (ERC-1271). Raises `Reverted`."""
    data = IS_VALID_SIGNATURE + encode(["bytes32", "bytes"], [digest, signature])
    return node.call(wallet, data, block)[:4] == IS_VALID_SIGNATURE
