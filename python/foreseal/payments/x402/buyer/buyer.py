"""Buyer: payment of 402 responses within a policy.

```text
402 with PAYMENT-REQUIRED
  |   host, scheme, network, asset, payee, amount, validity      PurchaseRejected: nothing was reserved
  v
reserve     one database transaction: caps of session and day, and no open payment for the same request
  |         the amount counts from here on
  v
sign        with the package x402; on failure: returned
  |
store       the key that identifies the payment on the chain
  |
send        the same request with PAYMENT-SIGNATURE; returned only if no connection existed
  v
response --- PAYMENT-RESPONSE of success: spent         402 without one: rejected, returned
        '-- any other, or none: unknown                 counts until the seller's status or the chain decides
```
"""

import hashlib
import json
import logging
from dataclasses import dataclass
from typing import Any
from urllib.parse import urljoin, urlsplit

from sqlalchemy.exc import SQLAlchemyError
from x402.schemas import PaymentRequired

from foreseal.payments.ledger import LedgerError, Trigger
from foreseal.payments.ledger.identifiers import identifier
from foreseal.payments.typed_data import address
from foreseal.payments.x402.buyer.channels import BuyerChannels
from foreseal.payments.x402.buyer.errors import PolicyViolation, PurchaseRejected, Rule
from foreseal.payments.x402.buyer.payment_responses import ResponseHeaders, read_outcome, read_required
from foreseal.payments.x402.buyer.purchases import PurchaseIntent, PurchaseOutcome, Purchases
from foreseal.payments.x402.buyer.signing import PaymentSignature, PaymentSigner
from foreseal.payments.x402.buyer.spending_policy import Offer, SpendingPolicy
from foreseal.payments.x402.payment_key import BATCH, UPTO

_log = logging.getLogger(__name__)

_CONFLICT = 409
_LONGEST_URL = 2000
_CAPS = (Rule.PER_SESSION, Rule.PER_DAY, Rule.PER_DEPOSIT)


@dataclass(frozen=True, slots=True)
class PaidRequest:
    """A request by the application."""

    method: str
    url: str
    body: bytes = b""
    idempotency_key: str | None = None
    """Header Idempotency-Key of the request, which distinguishes two equal requests."""
    origin: str | None = None
    """First URL of the redirects that led here, if different."""

    @property
    def subject(self) -> str:
        """Description for people, without query and password, which may be secret."""
        parts = urlsplit(self.url)
        return f"{self.method} {parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


@dataclass(frozen=True, slots=True)
class BuyerPayment:
    """A signed payment for a request."""

    id: str
    """Id of the purchase."""
    request: PaidRequest
    required: PaymentRequired
    offer: Offer
    amount: int
    """Units that count against the caps. A channel deposit may exceed the price; a voucher on it counts nothing."""
    signature: PaymentSignature
    again: bool = False
    """True for the second attempt, made with the seller's correction of the first."""

    @property
    def headers(self) -> dict[str, str]:
        """Headers to add to the request."""
        return self.signature.headers


class Buyer:
    """An account that spends within a policy. Safe for use from any thread; buyers may share a database."""

    def __init__(self, key: Any, policy: SpendingPolicy, purchases: Purchases, session: str = "default") -> None:
        """Set up the buyer. `key` is an eth-account account, or another signer that the package `x402` accepts.

        A session with the same name continues after a restart. Raises ValueError with the argument's name.
        """
        self.policy = policy
        self.purchases = purchases
        self.session = identifier(session, "session")
        self.payer = address(str(key.address), "key")
        self._signer = PaymentSigner(key, BuyerChannels(purchases.ledger.database, self.payer))

    def pay(self, request: PaidRequest, header: str) -> BuyerPayment:
        """Reserve, sign and store a payment for the first offer that the policy allows.

        `header` is the response's PAYMENT-REQUIRED. Raises `PurchaseRejected`, `OutcomeUnknown` and `Unreadable`;
        nothing is reserved then.
        """
        self.policy.check_host(request.url, request.origin)
        required = read_required(header)
        refusals: list[PolicyViolation] = []
        for offer in self.policy.offers(required.accepts):
            if isinstance(offer, PolicyViolation):
                refusals.append(offer)
                continue
            try:
                return self._sign(request, offer, required, again=False)
            except PurchaseRejected as error:  # another asset may have budget left
                refusals.extend(error.refusals)
        # Caps come first, since the user can change them.
        refusals.sort(key=lambda refusal: refusal.rule not in _CAPS)
        raise PurchaseRejected(
            tuple(refusals) or (PolicyViolation(Rule.SCHEME, "the seller accepts no payment method"),)
        )

    def answered(self, payment: BuyerPayment, status: int, get_header: ResponseHeaders) -> BuyerPayment | None:
        """Process a response. Return None if it is for the application.

        Otherwise the seller corrected the state of the channel: the returned payment must be sent once more.
        """
        varies = payment.offer.terms.scheme == UPTO
        outcome = read_outcome(payment.amount, varies, status, get_header)
        try:
            if outcome is not None:
                self.purchases.conclude(payment.id, outcome)
            elif (url := _status_url(payment.request, status, get_header)) is not None:
                self.purchases.point(payment.id, url)
            if payment.offer.terms.scheme != BATCH or not self._learn(payment, status, get_header):
                return None
        except (LedgerError, SQLAlchemyError):  # a paid response must reach the application despite errors here
            _log.warning("outcome of the purchase is unknown", extra={"purchase": payment.id}, exc_info=True)
            return None
        return None if payment.again else self._sign(payment.request, payment.offer, payment.required, again=True)

    def unsent(self, payment: BuyerPayment) -> None:
        """Return an amount that was never sent because no connection existed."""
        self.purchases.conclude(payment.id, PurchaseOutcome(Trigger.UNSENT))

    def _sign(self, request: PaidRequest, offer: Offer, required: PaymentRequired, again: bool) -> BuyerPayment:
        reserved: list[tuple[str, int]] = []

        def reserve(amount: int, channel: str | None) -> None:
            if channel is None:
                key = _key(self.payer, self.session, request.method, request.url, request.body, request.idempotency_key)
            else:
                key = _key(self.payer, "channel", channel)
            intent = PurchaseIntent(self.payer, self.session, key, request.subject, amount, self.policy.report_source)
            reserved.append((self.purchases.reserve(offer, intent), amount))

        try:
            signature = self._signer.sign(required, offer, reserve)
            if not reserved:  # repeated signatures of a voucher never claim more than the deposit that already counts
                intent = PurchaseIntent(self.payer, self.session, None, request.subject, 0, self.policy.report_source)
                reserved.append((self.purchases.reserve(offer, intent), 0))
            [(id, amount)] = reserved
            self.purchases.present(id, signature.signed)
        except BaseException:  # also on interrupts: nothing was sent yet
            for id, _ in reserved:
                self.purchases.conclude(id, PurchaseOutcome(Trigger.UNSENT), unless_presented=True)
            raise
        return BuyerPayment(id, request, required, offer, amount, signature, again)

    def _learn(self, payment: BuyerPayment, status: int, get_header: ResponseHeaders) -> bool:
        """Process the seller's report on a channel. Return True if it corrected the cached state."""
        try:
            return payment.signature.http.process_payment_result(
                payment.signature.payload, get_header, status
            ).recovered
        except ValueError as error:  # an invalid report leaves the cached state unchanged
            _log.warning("invalid channel state from the seller: %s", error)
            return False


def _status_url(request: PaidRequest, status: int, get_header: ResponseHeaders) -> str | None:
    """Return the payment's status URL from a 409 response of a Foreseal seller, if it has the request's origin."""
    if status != _CONFLICT or (location := get_header("Location")) is None:
        return None
    try:
        url = urljoin(request.url, location)
        return url if urlsplit(url)[:2] == urlsplit(request.url)[:2] and len(url) <= _LONGEST_URL else None
    except ValueError:  # invalid URL
        return None


def _key(*parts: str | bytes | None) -> str:
    written = json.dumps([hashlib.sha256(value).hexdigest() if isinstance(value, bytes) else value for value in parts])
    return hashlib.sha256(written.encode()).hexdigest()
