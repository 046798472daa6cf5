"""Which payment it is: chain, contract, payer and nonce, whatever else is said of it.

A nonce is spent once on the chain, so these four are the key of everything durable. Permit2 has nonces of its own,
apart from those of EIP-3009, since its contract is another. Vouchers spend no nonce: channel and cumulative amount take
its place.
"""

import hashlib
from dataclasses import dataclass

import orjson
from eth_utils.address import to_checksum_address
from eth_utils.crypto import keccak
from x402.mechanisms.evm.batch_settlement.encoding import build_erc3009_deposit_nonce
from x402.schemas import PaymentPayload, PaymentRequirements

from foreseal.payments.contracts.addresses import BATCH_SETTLEMENT, PERMIT2
from foreseal.payments.typed_data import address, word
from foreseal.payments.x402.wire import Claim, Deposit, Eip3009, Malformed, Permit2, Refund, Sweep, Voucher, checked

EXACT, UPTO, BATCH = "exact", "upto", "batch-settlement"
PENDING = "settlement_pending"
"""The package's word for a settlement that is on its way."""


@dataclass(frozen=True, slots=True)
class PaymentKey:
    """What makes a payment this one."""

    chain_id: int
    contract: str
    """The token, Permit2, or the contract of the channels."""
    payer: str
    nonce: bytes
    """32 bytes."""

    @property
    def name(self) -> str:
        """As one word, for URLs and tables."""
        return f"{self.chain_id}-{self.contract.lower()}-{self.payer.lower()}-0x{self.nonce.hex()}"

    @classmethod
    def parse(cls, name: str) -> "PaymentKey":
        """The key of a name. Raises ValueError."""
        parts = name.split("-")
        if len(parts) != 4 or not parts[0].isascii() or not parts[0].isdigit() or len(parts[0]) > 18:
            raise ValueError(f"payment: {name!r} is not CHAIN-CONTRACT-PAYER-NONCE")
        contract, payer = address(parts[1], "payment"), address(parts[2], "payment")
        return cls(int(parts[0]), contract, payer, word(parts[3], "payment"))


@dataclass(frozen=True, slots=True)
class Payment:
    """A payment as far as its key and its end go. Amounts in smallest units, times seconds since 1970."""

    key: PaymentKey
    token: str
    payee: str | None
    """None where the money does not go to a payee, but into or out of channels."""
    amount: int | None
    """What moves by the signature: exactly, or at most for `upto`."""
    deadline: int | None
    """No block at or after it takes the payment; for Permit2 no block after it. None: it has no end."""


def settled(payment: PaymentPayload, requirements: PaymentRequirements, swept: tuple[int, ...] = ()) -> Payment:
    """What a facilitator settles on the chain. Raises `Malformed`.

    `swept` are a receiver's totals, claimed and paid out: each of them is swept once.
    """
    raw, chain_id, token = payment.payload, _chain(requirements), to_checksum_address(requirements.asset)
    if payment.accepted.scheme != BATCH:
        return _signed(payment, chain_id, token)
    match raw.get("type"):
        case "deposit":
            return _deposit(checked(Deposit, raw, "payload"), chain_id, token)
        case "claim":
            checked(Claim, raw, "payload")
            return _channels(chain_id, token, requirements.pay_to, raw)
        case "settle":
            sweep = checked(Sweep, raw, "payload")
            return _channels(chain_id, to_checksum_address(sweep.token), sweep.receiver, [raw, swept])
        case "refund":
            refund = checked(Refund, raw, "payload")
            key = {"type": "refund", "channel": refund.voucher.channel.lower(), "nonce": refund.refund_nonce}
            return _channels(chain_id, token, refund.channel.payer, key)
        case kind:
            raise Malformed(f"payload.type: {kind!r} is nothing that is settled")


def granted(payment: PaymentPayload) -> Payment:
    """What a seller grants a request for. Raises `Malformed`."""
    chain_id, token = _chain(payment.accepted), to_checksum_address(payment.accepted.asset)
    if payment.accepted.scheme != BATCH:
        return _signed(payment, chain_id, token)
    raw = payment.payload
    kind = raw.get("type")
    if kind not in ("deposit", "voucher", "refund"):
        raise Malformed(f"payload.type: {kind!r} is no payment")
    found: Voucher = checked(Deposit if kind == "deposit" else Voucher, raw, "payload")
    cumulative = int(found.voucher.cumulative)
    said = word(found.voucher.channel, "channel") + cumulative.to_bytes(32, "big")
    # To ask for what is left repeats the last amount, and is no copy of the request that was paid by it.
    nonce = keccak(said + orjson.dumps(raw)) if kind == "refund" else keccak(said)
    payer = to_checksum_address(found.channel.payer)
    return Payment(PaymentKey(chain_id, BATCH_SETTLEMENT, payer, nonce), token, None, None, None)


def digest(payment: PaymentPayload, requirements: PaymentRequirements) -> bytes:
    """32 bytes that are the same for the same signed payload and the same demand."""
    asked = [requirements.scheme, requirements.network, requirements.asset.lower(), requirements.amount]
    said = [payment.payload, *asked, requirements.pay_to.lower()]
    return hashlib.sha256(orjson.dumps(said, option=orjson.OPT_SORT_KEYS)).digest()


def _chain(requirements: PaymentRequirements) -> int:
    return int(requirements.network.removeprefix("eip155:"))


def _signed(payment: PaymentPayload, chain_id: int, token: str) -> Payment:
    raw = payment.payload
    if payment.accepted.scheme == EXACT and "permit2Authorization" not in raw:
        terms = checked(Eip3009, raw, "payload").authorization
        key = PaymentKey(chain_id, token, to_checksum_address(terms.payer), word(terms.nonce, "nonce"))
        return Payment(key, token, to_checksum_address(terms.to), int(terms.value), int(terms.valid_before))
    if payment.accepted.scheme not in (EXACT, UPTO):
        raise Malformed(f"accepted.scheme: {payment.accepted.scheme!r} is none of exact, upto, batch-settlement")
    permit = checked(Permit2, raw, "payload").authorization
    if payment.accepted.scheme == UPTO and permit.witness.facilitator is None:
        raise Malformed("payload.permit2Authorization.witness.facilitator: is missing")
    nonce = int(permit.nonce).to_bytes(32, "big")
    key = PaymentKey(chain_id, PERMIT2, to_checksum_address(permit.payer), nonce)
    return Payment(
        key, token, to_checksum_address(permit.witness.to), int(permit.permitted.amount), int(permit.deadline)
    )


def _deposit(found: Deposit, chain_id: int, token: str) -> Payment:
    payer, way = to_checksum_address(found.channel.payer), found.deposit.authorization
    amount = int(found.deposit.amount)
    if way.permit2 is not None:
        key = PaymentKey(chain_id, PERMIT2, payer, int(way.permit2.nonce).to_bytes(32, "big"))
        return Payment(key, token, None, amount, int(way.permit2.deadline))
    if way.erc3009 is None:
        raise Malformed("payload.deposit.authorization: has neither erc3009Authorization nor permit2Authorization")
    nonce = word(build_erc3009_deposit_nonce(found.voucher.channel, way.erc3009.salt), "nonce")
    return Payment(PaymentKey(chain_id, token, payer, nonce), token, None, amount, int(way.erc3009.valid_before))


def _channels(chain_id: int, token: str, account: str, said: object) -> Payment:
    """A call about channels, which no nonce of a token makes unique: what it says does."""
    nonce = hashlib.sha256(orjson.dumps(said, option=orjson.OPT_SORT_KEYS)).digest()
    key = PaymentKey(chain_id, BATCH_SETTLEMENT, to_checksum_address(account), nonce)
    return Payment(key, token, None, None, None)
