"""Responses of the service as types. The OpenAPI document is generated from them; `views` returns them.

They are dictionaries, so that a response costs no validation. Tests validate every response against the document, in
which `OrderView` is `Order`.
"""

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, WithJsonSchema, with_config
from typing_extensions import TypeAliasType, TypedDict

from foreseal.payments.api.models import DeliveryState, WebhookOrigin
from foreseal.payments.api.roles import Role
from foreseal.payments.ledger import DisbursementState, Finality, OrderState
from foreseal.payments.ledger.event_types import OBJECTS, TEST, TYPES
from foreseal.payments.ledger.models import Purpose, Reason, TxResult

UnitsText = Annotated[str, Field(pattern="^[0-9]+$", description="Amount in smallest units.")]
Shown = Annotated[
    str,
    Field(
        description="Exact amount in tokens, for people: two decimal places, or as many as needed.",
        examples=["12.34 USDC"],
    ),
]
AddressText = Annotated[str, Field(pattern="^0x[0-9a-fA-F]{40}$")]
HashText = Annotated[str, Field(pattern="^0x[0-9a-f]{64}$")]
Unsigned = Annotated[int, Field(ge=0)]
UnixTime = Annotated[int, Field(ge=0, description="Unix time in seconds.")]
ActiveTxStatus = TypeAliasType("ActiveTxStatus", Literal["intended", "broadcast", "unknown", "failed"])
"""Status of a transaction under way."""
EventType = TypeAliasType("EventType", Annotated[str, WithJsonSchema({"type": "string", "enum": [*TYPES, TEST]})])
SelectableType = TypeAliasType(
    "SelectableType", Annotated[str, WithJsonSchema({"type": "string", "enum": list(TYPES)})]
)
"""Event type to which a target can subscribe."""
ObjectKind = TypeAliasType(
    "ObjectKind", Annotated[str, WithJsonSchema({"type": "string", "enum": list(OBJECTS.values())})]
)
NextCursor = Annotated[str | None, Field(description="The cursor of the next page, or null.")]


class ErrorBody(TypedDict):
    """An error."""

    code: str
    message: Annotated[str, Field(description="Description for people.")]
    argument: Annotated[str | None, Field(description="The field, parameter or header at fault.")]
    reason: Annotated[str | None, Field(description="Obstacle to a capture, as a code.")]


class Error(TypedDict):
    """Content of every error response."""

    error: ErrorBody


class Problem(TypedDict):
    """A failed check or a contradiction."""

    code: str
    message: Annotated[str, Field(description="Description for people.")]


class Money(TypedDict):
    """An amount."""

    amount: UnitsText
    amount_shown: Shown


class DestinationFields(TypedDict):
    """Destination of money."""

    destination: Annotated[str | None, Field(description="Name of the destination; null if it is not configured.")]
    token: AddressText
    symbol: Annotated[str | None, Field(description="Symbol of the token; null if the token is not configured.")]


class Arrival(DestinationFields):
    """Destination at which money arrives."""

    payee: Annotated[
        AddressText, Field(description="Account that receives the money: the payee's, or its batch capture contract.")
    ]


class Origin(DestinationFields):
    """Destination that sends money."""

    payee: Annotated[
        AddressText | None,
        Field(description="Account that sends the money; null if the destination is not configured."),
    ]


class RefinedStatus(TypedDict):
    """Status of an effect on the chain."""

    finality: Annotated[Finality | None, Field(description="Finality of the effect on the chain; null without one.")]
    tx_status: Annotated[
        ActiveTxStatus | None,
        Field(
            description="Status of the transaction in progress; null if there is none or its effect is on the chain."
        ),
    ]


class TransferView(Money, Arrival):
    """A transfer to the merchant."""

    transaction_hash: HashText
    log_index: Unsigned
    position: Annotated[int, Field(ge=0, description="Position of the Transfer among the logs of the transaction.")]
    block_number: Unsigned
    sender: AddressText
    finality: Finality


class PaymentView(TransferView):
    """The transfer that paid an order."""

    block_hash: str


class OrderConstants(Money, Arrival):
    """Fields of an order that never change, once it has a payer."""

    id: str
    chain_id: Unsigned
    payer: Annotated[
        AddressText | None, Field(description="Account of the buyer; null until a signature assigns the payer.")
    ]
    checkout: Annotated[AddressText | None, Field(description="Contract that captures an order with a maximum.")]
    valid_after: UnixTime
    valid_before: UnixTime
    nonce: HashText
    memo: Annotated[HashText, Field(description="Memo by which a transfer refers to the order.")]
    created: UnixTime
    reference: Annotated[str | None, Field(description="The merchant's own name of the order.")]
    metadata: Annotated[dict[str, str], Field(description="The merchant's own data: texts by name.")]
    auto_capture: Annotated[bool, Field(description="True if the order is captured once its signature is stored.")]


class OrderView(OrderConstants, RefinedStatus):
    """An order."""

    state: OrderState
    last_error: Annotated[
        str | None, Field(description="Last rejection of the order's capture, for people; null once it is accepted.")
    ]
    payment: PaymentView | None
    refunded: Annotated[UnitsText, Field(description="Sum of refunds, including pending ones.")]
    refunded_shown: Shown


class TransactionView(TypedDict):
    """A signed transaction and the hashes of its attempts."""

    purpose: Purpose
    account_nonce: Unsigned
    hashes: list[HashText]
    result: TxResult | None


class OrderDetail(TypedDict):
    """An order and its transactions."""

    order: OrderView
    transactions: list[TransactionView]


class OrderSigned(OrderDetail):
    """An order with a stored signature."""

    capture_error: Annotated[
        ErrorBody | None,
        Field(description="Reason why an order with auto_capture is not captured yet; the service retries."),
    ]


class OrderPlaced(TypedDict):
    """A stored payment."""

    order: OrderView


class PaymentBatchItem(TypedDict):
    """Outcome of one payment of a batch."""

    status: Annotated[int, Field(ge=0, description="Status that the item would have as a request of its own.")]
    order: OrderView | None
    error: ErrorBody | None


class PaymentBatch(TypedDict):
    """Outcomes of a batch, in the order of its payments."""

    items: list[PaymentBatchItem]


@with_config(ConfigDict(extra="allow"))
class TypedData(TypedDict):
    """Typed data for eth_signTypedData_v4."""

    types: dict[str, Any]
    primaryType: str
    domain: dict[str, Any]
    message: dict[str, Any]


class OrderToSign(TypedDict):
    """An order and the typed data that its payer signs."""

    order: OrderView
    payer_required: Annotated[
        bool,
        Field(
            description="True if the order has no payer yet, so typed_data lacks the fields that depend on the payer."
        ),
    ]
    typed_data: TypedData
    checkout_url: Annotated[
        str | None,
        Field(description="Payment link for the shopper, with the client secret; null without a checkout page."),
    ]


class CheckoutLink(TypedDict):
    """Payment link of an order."""

    checkout_url: Annotated[str, Field(description="Payment link for the shopper, with the client secret.")]


class OrderPage(TypedDict):
    """One page of orders."""

    items: list[OrderView]
    next: NextCursor


class RefundedTransferView(TypedDict):
    """An unmatched transfer that is refunded."""

    transaction_hash: HashText
    position: Unsigned


class RefundConstants(Money, Origin):
    """Fields of a refund that never change."""

    id: str
    order_id: Annotated[str | None, Field(description="Order; null if an unmatched transfer is refunded.")]
    transfer: Annotated[RefundedTransferView | None, Field(description="Unmatched transfer; null for an order.")]
    chain_id: Unsigned
    recipient: AddressText


class RefundView(RefundConstants, RefinedStatus):
    """A refund."""

    state: DisbursementState


class RefundDetail(TypedDict):
    """A refund and its transactions."""

    refund: RefundView
    transactions: list[TransactionView]


class RefundPage(TypedDict):
    """One page of refunds."""

    items: list[RefundView]
    next: NextCursor


class Leg(Money):
    """A recipient of a payout."""

    recipient: AddressText


class PayoutConstants(Money, Origin):
    """Fields of a payout that never change."""

    id: HashText
    chain_id: Unsigned
    contract: AddressText
    recipients: list[Leg]


class PayoutView(PayoutConstants, RefinedStatus):
    """A payout."""

    state: DisbursementState


class PayoutDetail(TypedDict):
    """A payout and its transactions."""

    payout: PayoutView
    transactions: list[TransactionView]


class PayoutPreview(Money, Origin):
    """A payout that could be sent now."""

    contract: AddressText
    recipients: list[Leg]


class PayoutPage(TypedDict):
    """One page of payouts."""

    items: list[PayoutView]
    next: NextCursor


class EventStatus(RefinedStatus):
    """Status of an object before or after an event."""

    state: str


class EventOrder(OrderConstants, EventStatus):
    """The order of an event."""

    object: Literal["order"]


class EventRefund(RefundConstants, EventStatus):
    """The refund of an event."""

    object: Literal["refund"]


class EventPayout(PayoutConstants, EventStatus):
    """The payout of an event."""

    object: Literal["payout"]


class EventWebhook(EventStatus):
    """The target of a test event."""

    object: Literal["webhook"]
    id: str
    created: UnixTime


EventObject = TypeAliasType(
    "EventObject",
    Annotated[
        EventOrder | EventRefund | EventPayout | EventWebhook,
        Field(description="The object with its status after the event, without what may change later."),
    ],
)


class EventData(TypedDict):
    """Content of an event."""

    object: EventObject
    previous: EventStatus | None
    details: Annotated[
        dict[str, Any], Field(description="Hashes and amounts; `reason` is a code, `message` for people.")
    ]


class EventView(TypedDict):
    """An event of an order, a refund, a payout or a webhook."""

    id: str
    type: EventType
    created: UnixTime
    data: EventData


class Timeline(TypedDict):
    """A page of the events of an object, oldest first."""

    items: list[EventView]
    next: NextCursor


class Resolution(TypedDict):
    """A recorded resolution."""

    note: str
    by: str
    time: UnixTime


class UnmatchedTransferView(TransferView):
    """A transfer that pays neither an order nor an x402 response."""

    reason: Reason
    order_id: str | None
    resolution: Resolution | None


class UnmatchedTransferPage(TypedDict):
    """One page of unmatched transfers."""

    items: list[UnmatchedTransferView]
    next: NextCursor


class DestinationBalance(DestinationFields):
    """Sums of one destination, in smallest units of its token."""

    payees: Annotated[list[AddressText], Field(description="Accounts whose transfers are counted.")]
    received: UnitsText
    captured: UnitsText
    granted: UnitsText
    unmatched: UnitsText
    refunded: UnitsText
    reserved: UnitsText


class BalanceView(TypedDict):
    """Sums of the ledger by destination."""

    destinations: Annotated[
        list[DestinationBalance],
        Field(description="All destinations in the order of the configuration, then those no longer configured."),
    ]
    faults: Annotated[list[Problem], Field(description="Contradictions; empty if the ledger is consistent.")]


class WebhookView(TypedDict):
    """A target of webhooks."""

    id: str
    url: str
    events: Annotated[list[SelectableType] | None, Field(description="Event types; null for all.")]
    origin: WebhookOrigin
    created: UnixTime
    retired: UnixTime | None
    previous_secret_expires: Annotated[
        UnixTime | None, Field(description="Time until which a replaced secret signs as well.")
    ]


class WebhookSecret(TypedDict):
    """A target and its new secret."""

    webhook: WebhookView
    secret: Annotated[str, Field(description="Key of the signatures, shown only once.")]


class Webhooks(TypedDict):
    """All targets."""

    items: list[WebhookView]


class ApiKeyView(TypedDict):
    """An API key, without its secret."""

    id: str
    name: str
    role: Role
    created: UnixTime
    revoked: UnixTime | None


class ApiKeySecret(TypedDict):
    """A new API key and its secret."""

    api_key: ApiKeyView
    secret: Annotated[
        str | None, Field(description="Text of the API key, shown only once; null if the request is repeated.")
    ]


class ApiKeys(TypedDict):
    """All API keys."""

    items: list[ApiKeyView]


class DayStatistics(TypedDict):
    """Orders in one token, by the day of their creation."""

    day: UnixTime
    token: AddressText
    symbol: Annotated[str | None, Field(description="Symbol of the token; null if the token is not configured.")]
    orders: Unsigned
    captured: Unsigned
    failed: Annotated[int, Field(ge=0, description="Orders that were voided, canceled or expired.")]
    volume: Annotated[Money, Field(description="Sum of the captured amounts.")]
    refunded: Annotated[Money, Field(description="Sum of the refunds of these orders, including pending ones.")]


class StatisticsView(TypedDict):
    """Statistics of orders by day."""

    created_from: Annotated[int, Field(ge=0, description="Unix time from which all orders are counted.")]
    created_before: UnixTime
    complete: Annotated[bool, Field(description="False if the range has too many orders; the oldest are left out.")]
    items: list[DayStatistics]


class DeliveryView(TypedDict):
    """The delivery of one event to one target."""

    id: Unsigned
    webhook_id: str
    event_id: str
    event_type: EventType
    object: ObjectKind
    object_id: str
    state: DeliveryState
    attempts: Unsigned
    next_attempt: UnixTime | None
    last_error: str | None


class DeliveryPage(TypedDict):
    """One page of deliveries."""

    items: list[DeliveryView]
    next: NextCursor
