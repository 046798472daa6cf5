"""Types of requests and responses.

`make merchant-client` generates this file from the OpenAPI document of the service.
"""

from typing import Any, Literal, NotRequired, TypeAlias, TypedDict

from foreseal.merchant.values import (
    ActiveTxStatus,
    DisbursementState,
    EventType,
    Finality,
    OrderState,
    Purpose,
    Reason,
    TxResult,
)


class Balance(TypedDict):
    """Sums of the ledger by destination."""

    destinations: "list[DestinationBalance]"
    """All destinations in the order of the configuration, then those no longer configured."""
    faults: "list[Problem]"
    """Contradictions; empty if the ledger is consistent."""


class CheckoutLink(TypedDict):
    """Payment link of an order."""

    checkout_url: str
    """Payment link for the shopper, with the client secret."""


class DestinationBalance(TypedDict):
    """Sums of one destination, in smallest units of its token."""

    destination: str | None
    """Name of the destination; null if it is not configured."""
    token: str
    symbol: str | None
    """Symbol of the token; null if the token is not configured."""
    payees: "list[str]"
    """Accounts whose transfers are counted."""
    received: str
    """Amount in smallest units."""
    captured: str
    """Amount in smallest units."""
    granted: str
    """Amount in smallest units."""
    unmatched: str
    """Amount in smallest units."""
    refunded: str
    """Amount in smallest units."""
    reserved: str
    """Amount in smallest units."""


class ErrorBody(TypedDict):
    """An error."""

    code: str
    message: str
    """Description for people."""
    argument: str | None
    """The field, parameter or header at fault."""
    reason: str | None
    """Obstacle to a capture, as a code."""


class Event(TypedDict):
    """An event of an order, a refund, a payout or a webhook."""

    id: str
    type: "EventType"
    created: int
    """Unix time in seconds."""
    data: "EventData"


class EventData(TypedDict):
    """Content of an event."""

    object: "EventObject"
    previous: "EventStatus | None"
    details: dict[str, Any]
    """Hashes and amounts; `reason` is a code, `message` for people."""


EventObject: TypeAlias = "EventOrder | EventRefund | EventPayout | EventWebhook"
"""The object with its status after the event, without what may change later."""


class EventOrder(TypedDict):
    """The order of an event."""

    amount: str
    """Amount in smallest units."""
    amount_shown: str
    """Exact amount in tokens, for people: two decimal places, or as many as needed."""
    destination: str | None
    token: str
    symbol: str | None
    payee: str
    """Account that receives the money: the payee's, or its batch capture contract."""
    id: str
    chain_id: int
    payer: str | None
    """Account of the buyer; null until a signature assigns the payer."""
    checkout: str | None
    """Contract that captures an order with a maximum."""
    valid_after: int
    """Unix time in seconds."""
    valid_before: int
    """Unix time in seconds."""
    nonce: str
    memo: str
    """Memo by which a transfer refers to the order."""
    created: int
    reference: str | None
    """The merchant's own name of the order."""
    metadata: dict[str, str]
    """The merchant's own data: texts by name."""
    auto_capture: bool
    """True if the order is captured once its signature is stored."""
    finality: "Finality | None"
    """Finality of the effect on the chain; null without one."""
    tx_status: "ActiveTxStatus | None"
    """Status of the transaction in progress; null if there is none or its effect is on the chain."""
    state: str
    object: "Literal['order']"


class EventPayout(TypedDict):
    """The payout of an event."""

    amount: str
    amount_shown: str
    destination: str | None
    token: str
    symbol: str | None
    payee: str | None
    """Account that sends the money; null if the destination is not configured."""
    id: str
    chain_id: int
    contract: str
    recipients: "list[Leg]"
    finality: "Finality | None"
    tx_status: "ActiveTxStatus | None"
    state: str
    object: "Literal['payout']"


class EventRefund(TypedDict):
    """The refund of an event."""

    amount: str
    amount_shown: str
    destination: str | None
    token: str
    symbol: str | None
    payee: str | None
    id: str
    order_id: str | None
    """Order; null if an unmatched transfer is refunded."""
    transfer: "RefundedTransfer | None"
    """Unmatched transfer; null for an order."""
    chain_id: int
    recipient: str
    finality: "Finality | None"
    tx_status: "ActiveTxStatus | None"
    state: str
    object: "Literal['refund']"


class EventStatus(TypedDict):
    """Status of an object before or after an event."""

    finality: "Finality | None"
    tx_status: "ActiveTxStatus | None"
    state: str


class EventWebhook(TypedDict):
    """The target of a test event."""

    finality: "Finality | None"
    tx_status: "ActiveTxStatus | None"
    state: str
    object: "Literal['webhook']"
    id: str
    created: int


class Leg(TypedDict):
    """A recipient of a payout."""

    amount: str
    amount_shown: str
    recipient: str


class Money(TypedDict):
    """An amount."""

    amount: str
    amount_shown: str


class Order(TypedDict):
    """An order."""

    amount: str
    amount_shown: str
    destination: str | None
    token: str
    symbol: str | None
    payee: str
    id: str
    chain_id: int
    payer: str | None
    checkout: str | None
    valid_after: int
    valid_before: int
    nonce: str
    memo: str
    created: int
    reference: str | None
    metadata: dict[str, str]
    auto_capture: bool
    finality: "Finality | None"
    tx_status: "ActiveTxStatus | None"
    state: "OrderState"
    last_error: str | None
    """Last rejection of the order's capture, for people; null once it is accepted."""
    payment: "Payment | None"
    refunded: str
    """Sum of refunds, including pending ones."""
    refunded_shown: str
    """Exact amount in tokens, for people: two decimal places, or as many as needed."""


class OrderDetail(TypedDict):
    """An order and its transactions."""

    order: "Order"
    transactions: "list[Transaction]"


class OrderPage(TypedDict):
    """One page of orders."""

    items: "list[Order]"
    next: str | None
    """The cursor of the next page, or null."""


class OrderPlaced(TypedDict):
    """A stored payment."""

    order: "Order"


class OrderSigned(TypedDict):
    """An order with a stored signature."""

    order: "Order"
    transactions: "list[Transaction]"
    capture_error: "ErrorBody | None"
    """Reason why an order with auto_capture is not captured yet; the service retries."""


class OrderToSign(TypedDict):
    """An order and the typed data that its payer signs."""

    order: "Order"
    payer_required: bool
    """True if the order has no payer yet, so typed_data lacks the fields that depend on the payer."""
    typed_data: "TypedData"
    checkout_url: str | None
    """Payment link for the shopper, with the client secret; null without a checkout page."""


class Payment(TypedDict):
    """The transfer that paid an order."""

    amount: str
    amount_shown: str
    destination: str | None
    token: str
    symbol: str | None
    payee: str
    transaction_hash: str
    log_index: int
    position: int
    """Position of the Transfer among the logs of the transaction."""
    block_number: int
    sender: str
    finality: "Finality"
    block_hash: str


class PaymentBatch(TypedDict):
    """Outcomes of a batch, in the order of its payments."""

    items: "list[PaymentBatchItem]"


class PaymentBatchItem(TypedDict):
    """Outcome of one payment of a batch."""

    status: int
    """Status that the item would have as a request of its own."""
    order: "Order | None"
    error: "ErrorBody | None"


class PaymentRequest(TypedDict):
    """A signed payment."""

    id: NotRequired[str | None]
    """Id of the order; derived from the Idempotency-Key by default."""
    payer: str
    """Account of the buyer."""
    amount: str
    """Exact amount, in smallest units, as a string."""
    valid_after: NotRequired[int | None]
    """Unix time in seconds, exclusive; default 0."""
    valid_before: int
    """Unix time in seconds, exclusive."""
    nonce: str
    """Nonce of the signed authorization: 32 random bytes."""
    signature: str
    """Signature of the payer over ReceiveWithAuthorization (EIP-3009)."""
    capture: "NotRequired[bool | None]"
    """Capture the payment at once; default false."""
    destination: NotRequired[str | None]
    """Destination of the payment; default the first."""
    reference: NotRequired[str | None]
    metadata: "NotRequired[dict[str, str] | None]"


class Payout(TypedDict):
    """A payout."""

    amount: str
    amount_shown: str
    destination: str | None
    token: str
    symbol: str | None
    payee: str | None
    id: str
    chain_id: int
    contract: str
    recipients: "list[Leg]"
    finality: "Finality | None"
    tx_status: "ActiveTxStatus | None"
    state: "DisbursementState"


class PayoutDetail(TypedDict):
    """A payout and its transactions."""

    payout: "Payout"
    transactions: "list[Transaction]"


class PayoutPage(TypedDict):
    """One page of payouts."""

    items: "list[Payout]"
    next: str | None


class PayoutPreview(TypedDict):
    """A payout that could be sent now."""

    amount: str
    amount_shown: str
    destination: str | None
    token: str
    symbol: str | None
    payee: str | None
    contract: str
    recipients: "list[Leg]"


class Problem(TypedDict):
    """A failed check or a contradiction."""

    code: str
    message: str


class Recipient(TypedDict):
    """A recipient and an amount."""

    recipient: str
    """Account of the recipient."""
    amount: str


class Refund(TypedDict):
    """A refund."""

    amount: str
    amount_shown: str
    destination: str | None
    token: str
    symbol: str | None
    payee: str | None
    id: str
    order_id: str | None
    transfer: "RefundedTransfer | None"
    chain_id: int
    recipient: str
    finality: "Finality | None"
    tx_status: "ActiveTxStatus | None"
    state: "DisbursementState"


class RefundDetail(TypedDict):
    """A refund and its transactions."""

    refund: "Refund"
    transactions: "list[Transaction]"


class RefundPage(TypedDict):
    """One page of refunds."""

    items: "list[Refund]"
    next: str | None


class RefundedTransfer(TypedDict):
    """An unmatched transfer that is refunded."""

    transaction_hash: str
    position: int


class Resolution(TypedDict):
    """A recorded resolution."""

    note: str
    by: str
    time: int
    """Unix time in seconds."""


class Share(TypedDict):
    """A recipient and a share."""

    recipient: str
    basis_points: int
    """Share in basis points."""


class Timeline(TypedDict):
    """A page of the events of an object, oldest first."""

    items: "list[Event]"
    next: str | None


class Transaction(TypedDict):
    """A signed transaction and the hashes of its attempts."""

    purpose: "Purpose"
    account_nonce: int
    hashes: "list[str]"
    result: "TxResult | None"


class TypedData(TypedDict):
    """Typed data for eth_signTypedData_v4."""

    types: dict[str, Any]
    primaryType: str
    domain: dict[str, Any]
    message: dict[str, Any]


class UnmatchedTransfer(TypedDict):
    """A transfer that pays neither an order nor an x402 response."""

    amount: str
    amount_shown: str
    destination: str | None
    token: str
    symbol: str | None
    payee: str
    transaction_hash: str
    log_index: int
    position: int
    block_number: int
    sender: str
    finality: "Finality"
    reason: "Reason"
    order_id: str | None
    resolution: "Resolution | None"


class UnmatchedTransferPage(TypedDict):
    """One page of unmatched transfers."""

    items: "list[UnmatchedTransfer]"
    next: str | None
