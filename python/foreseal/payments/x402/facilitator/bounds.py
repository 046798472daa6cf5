"""Bounds of a facilitator, compared with every member of a payment that decides whose money moves on the chain.

The requirements are only a request: a call about payment channels follows the receiver and the token inside the
payload, and a transfer through Permit2 its signed token. So all of them are compared.
"""

from dataclasses import dataclass, field, replace

from eth_utils.address import to_checksum_address
from x402.schemas import PaymentPayload, PaymentRequirements

from foreseal.payments.contracts.addresses import BATCH_SETTLEMENT, PERMIT2
from foreseal.payments.typed_data import ZERO_ADDRESS, address
from foreseal.payments.x402.payloads import (
    GRANTED,
    SETTLED,
    ChannelClaim,
    ChannelTerms,
    Deposit,
    Refund,
    Sweep,
    TransferTerms,
    Voucher,
    validate_payload,
)
from foreseal.payments.x402.payment_key import BATCH, signed_terms


@dataclass(frozen=True, slots=True)
class FacilitatorBounds:
    """Tokens and payees that a facilitator settles. An empty set allows any."""

    tokens: frozenset[str] = field(default_factory=frozenset)
    payees: frozenset[str] = field(default_factory=frozenset)
    trusted: frozenset[str] = field(default_factory=frozenset)
    """Tokens whose code is no stranger's, in addition to `tokens`."""

    def __post_init__(self) -> None:
        for name in ("tokens", "payees", "trusted"):
            object.__setattr__(self, name, frozenset(address(item, name) for item in getattr(self, name)))

    def strange_token(self, payment: PaymentPayload, requirements: PaymentRequirements) -> str | None:
        """Return a token of a payment whose code is a stranger's, or None. Raises `Malformed`."""
        tokens = _checksummed(requirements.asset, *_acting_accounts(payment).tokens)
        return min(tokens - self.tokens - self.trusted, default=None)

    def trusts(self, contract: str) -> bool:
        """Return True unless the code of a contract that payments name may be a stranger's."""
        return contract in (PERMIT2, BATCH_SETTLEMENT) or contract in self.tokens | self.trusted

    def refuses(self, payment: PaymentPayload, requirements: PaymentRequirements) -> str | None:
        """Return the reason for a rejection, or None if the settlement is allowed. Raises `Malformed`."""
        accounts = _acting_accounts(payment)
        if self.tokens and not self.tokens >= _checksummed(requirements.asset, *accounts.tokens):
            return "asset_not_allowed"
        if self.payees and not self.payees >= _checksummed(requirements.pay_to, *accounts.payees):
            return "payee_not_allowed"
        return None


@dataclass(frozen=True, slots=True)
class _ActingAccounts:
    """Accounts inside a payload that a contract uses."""

    tokens: list[str]
    payees: list[str]
    signers: list[str]
    """Accounts whose signatures are checked; those with code check their own."""


def _acting_accounts(payment: PaymentPayload) -> _ActingAccounts:
    if payment.accepted.scheme == BATCH:
        return _channel_accounts(payment)
    terms = signed_terms(payment)
    if isinstance(terms, TransferTerms):  # the token is the called contract: that of the requirements
        return _ActingAccounts([], [terms.to], [terms.payer])
    return _ActingAccounts([terms.permitted.token], [terms.witness.to], [terms.payer])


def _channel_accounts(payment: PaymentPayload) -> _ActingAccounts:
    match _channel_payload(payment):
        case Sweep() as sweep:
            return _ActingAccounts([sweep.token], [sweep.receiver], [])
        case ChannelClaim() as claim:
            return _accounts([each.voucher.channel for each in claim.claims])
        case Refund() as refund:
            return _accounts([refund.channel, *(each.voucher.channel for each in refund.claims)])
        case Deposit() as deposit:
            accounts, permit2 = _accounts([deposit.channel]), deposit.deposit.authorization.permit2
            return (
                accounts if permit2 is None else replace(accounts, tokens=[*accounts.tokens, permit2.permitted.token])
            )
        case Voucher() as voucher:
            return _accounts([voucher.channel])


def _channel_payload(payment: PaymentPayload) -> Deposit | Voucher | ChannelClaim | Sweep | Refund:
    raw = payment.payload
    # A payer requests a refund by a voucher; only the seller's request of it has a nonce, and is settled.
    if raw.get("type") == "voucher" or (raw.get("type") == "refund" and "refundNonce" not in raw):
        return validate_payload(GRANTED, raw, "payload")
    return validate_payload(SETTLED, raw, "payload")


def _accounts(channels: list[ChannelTerms]) -> _ActingAccounts:
    signers = [
        account
        for channel in channels
        for account in (channel.payer, channel.payer_authorizer, channel.receiver_authorizer)
    ]
    return _ActingAccounts([channel.token for channel in channels], [channel.receiver for channel in channels], signers)


def signers(payment: PaymentPayload) -> list[str]:
    """Return the accounts whose signatures a payment needs, each once. Raises `Malformed`."""
    return sorted(_checksummed(*_acting_accounts(payment).signers) - {ZERO_ADDRESS})


def _checksummed(*accounts: str) -> frozenset[str]:
    return frozenset(map(to_checksum_address, accounts))
