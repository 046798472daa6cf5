"""Identity of a payment: chain, contract, payer and nonce, independent of its other data.

The chain accepts a nonce once, so these four are the key of all durable state. Permit2 nonces are separate from
EIP-3009 nonces, since the contract differs. Vouchers use no nonce: channel and cumulative amount replace it.
"""

import hashlib
from dataclasses import dataclass

import orjson
from eth_utils.address import to_checksum_address
from eth_utils.crypto import keccak
from x402.mechanisms.evm.batch_settlement.encoding import build_erc3009_deposit_nonce
from x402.schemas import PaymentPayload, PaymentRequirements

from foreseal.payments.contracts.addresses import BATCH_SETTLEMENT, PERMIT2
from foreseal.payments.typed_data import address, bytes32
from foreseal.payments.x402.payloads import (
    GRANTED,
    SETTLED,
    ChannelClaim,
    Deposit,
    Eip3009,
    Malformed,
    Permit2,
    Permit2Terms,
    Refund,
    Sweep,
    TransferTerms,
    UptoPermit2,
    UptoTerms,
    validate_payload,
)

EXACT, UPTO, BATCH = "exact", "upto", "batch-settlement"
PENDING = "settlement_pending"
"""The package's error reason for a settlement that is still pending."""


@dataclass(frozen=True, slots=True)
class PaymentKey:
    """Unique key of a payment."""

    chain_id: int
    contract: str
    """The token, Permit2, or the contract of the payment channels."""
    payer: str
    nonce: bytes
    """32 bytes."""

    @property
    def name(self) -> str:
        """Text form of the key, for URLs and tables."""
        return f"{self.chain_id}-{self.contract.lower()}-{self.payer.lower()}-0x{self.nonce.hex()}"

    @classmethod
    def parse(cls, name: str) -> "PaymentKey":
        """Parse a name. Raises ValueError."""
        parts = name.split("-")
        if len(parts) != 4 or not parts[0].isascii() or not parts[0].isdigit() or len(parts[0]) > 18:
            raise ValueError(f"payment: {name!r} is not CHAIN-CONTRACT-PAYER-NONCE")
        contract, payer = address(parts[1], "payment"), address(parts[2], "payment")
        return cls(int(parts[0]), contract, payer, bytes32(parts[3], "payment"))


@dataclass(frozen=True, slots=True)
class Payment:
    """Key, transfer and expiry of a payment. Amounts are in smallest units, times in seconds since 1970."""

    key: PaymentKey
    token: str
    payee: str | None
    """None if the money goes into or out of payment channels instead of to a payee."""
    amount: int | None
    """Amount that the signature moves: exact, or a maximum for `upto`."""
    deadline: int | None
    """Expiry: exclusive, but inclusive for Permit2. None if it never expires."""


def settled(payment: PaymentPayload, requirements: PaymentRequirements, swept: tuple[int, ...] = ()) -> Payment:
    """Return the payment that a facilitator settles on the chain. Raises `Malformed`.

    `swept` are a receiver's totals, claimed and paid out; each state of them is swept once.
    """
    raw, chain_id, token = payment.payload, _chain(requirements), to_checksum_address(requirements.asset)
    if payment.accepted.scheme != BATCH:
        return _signed(payment, chain_id, token)
    match validate_payload(SETTLED, raw, "payload"):
        case Deposit() as deposit:
            return _deposit(deposit, chain_id, token)
        case ChannelClaim():
            return _channels(chain_id, token, requirements.pay_to, raw)
        case Sweep() as sweep:
            return _channels(chain_id, to_checksum_address(sweep.token), sweep.receiver, [raw, swept])
        case Refund() as refund:
            key = {"type": "refund", "channel": refund.voucher.channel.lower(), "nonce": refund.refund_nonce}
            return _channels(chain_id, token, refund.channel.payer, key)


def granted(payment: PaymentPayload) -> Payment:
    """Return the payment for which a seller grants a request. Raises `Malformed`."""
    chain_id, token = _chain(payment.accepted), to_checksum_address(payment.accepted.asset)
    if payment.accepted.scheme != BATCH:
        return _signed(payment, chain_id, token)
    payload = validate_payload(GRANTED, payment.payload, "payload")
    cumulative = int(payload.voucher.cumulative)
    message = bytes32(payload.voucher.channel, "channel") + cumulative.to_bytes(32, "big")
    # A request for the rest repeats the last amount, but is not a copy of the request that the amount paid.
    nonce = keccak(message + orjson.dumps(payment.payload)) if payload.type == "refund" else keccak(message)
    payer = to_checksum_address(payload.channel.payer)
    return Payment(PaymentKey(chain_id, BATCH_SETTLEMENT, payer, nonce), token, None, None, None)


def digest(payment: PaymentPayload, requirements: PaymentRequirements) -> bytes:
    """Return a 32-byte hash of the signed payload and the demand."""
    terms = [requirements.scheme, requirements.network, requirements.asset.lower(), requirements.amount]
    content = [payment.payload, *terms, requirements.pay_to.lower()]
    return hashlib.sha256(orjson.dumps(content, option=orjson.OPT_SORT_KEYS)).digest()


def _chain(requirements: PaymentRequirements) -> int:
    return int(requirements.network.removeprefix("eip155:"))


def signed_terms(payment: PaymentPayload) -> TransferTerms | Permit2Terms | UptoTerms:
    """Return the signed transfer of a payment by `exact` or `upto`. Raises `Malformed`."""
    scheme, raw = payment.accepted.scheme, payment.payload
    if scheme == EXACT and "permit2Authorization" not in raw:
        return validate_payload(Eip3009, raw, "payload").authorization
    if scheme == EXACT:
        return validate_payload(Permit2, raw, "payload").authorization
    if scheme == UPTO:
        return validate_payload(UptoPermit2, raw, "payload").authorization
    raise Malformed(f"accepted.scheme: {scheme!r} must be exact, upto or batch-settlement")


def _signed(payment: PaymentPayload, chain_id: int, token: str) -> Payment:
    terms = signed_terms(payment)
    payer = to_checksum_address(terms.payer)
    if isinstance(terms, TransferTerms):
        key = PaymentKey(chain_id, token, payer, bytes32(terms.nonce, "nonce"))
        return Payment(key, token, to_checksum_address(terms.to), int(terms.value), int(terms.valid_before))
    key = PaymentKey(chain_id, PERMIT2, payer, int(terms.nonce).to_bytes(32, "big"))
    return Payment(key, token, to_checksum_address(terms.witness.to), int(terms.permitted.amount), int(terms.deadline))


def _deposit(payload: Deposit, chain_id: int, token: str) -> Payment:
    payer, authorization = to_checksum_address(payload.channel.payer), payload.deposit.authorization
    amount = int(payload.deposit.amount)
    if authorization.permit2 is not None:
        key = PaymentKey(chain_id, PERMIT2, payer, int(authorization.permit2.nonce).to_bytes(32, "big"))
        return Payment(key, token, None, amount, int(authorization.permit2.deadline))
    assert authorization.erc3009 is not None
    nonce = bytes32(build_erc3009_deposit_nonce(payload.voucher.channel, authorization.erc3009.salt), "nonce")
    return Payment(
        PaymentKey(chain_id, token, payer, nonce), token, None, amount, int(authorization.erc3009.valid_before)
    )


def _channels(chain_id: int, token: str, account: str, claims: object) -> Payment:
    """Return the key of a call about channels. No token nonce makes it unique, so its content does."""
    nonce = hashlib.sha256(orjson.dumps(claims, option=orjson.OPT_SORT_KEYS)).digest()
    key = PaymentKey(chain_id, BATCH_SETTLEMENT, to_checksum_address(account), nonce)
    return Payment(key, token, None, None, None)
