"""Paths, queries and bodies of the routes of orders."""

from typing import Annotated, Literal

from pydantic import Field

from foreseal.payments.api.events import MAX_TIMELINE_REFUNDS
from foreseal.payments.api.pagination import CreatedQuery, TimelineQuery
from foreseal.payments.api.request_models import RequestModel
from foreseal.payments.api.responses import ActiveTxStatus
from foreseal.payments.api.value_types import (
    Amount,
    DestinationText,
    EndTime,
    Metadata,
    ObjectId,
    Reference,
    ReturnUrl,
    Selected,
    ShortText,
    Signature,
    Time,
)
from foreseal.payments.ledger import Finality, OrderState
from foreseal.payments.validation import AccountAddress, Bytes32

_YEAR = 366 * 86_400


class OrderPath(RequestModel):
    """Path of an order."""

    id: ObjectId = Field(description="Id of the order.")


class OrderDetailQuery(RequestModel):
    """Content of the response about an order."""

    refunds: Literal["true", "false"] = Field(
        default="false",
        description=f"With true, the transactions of the order's newest {MAX_TIMELINE_REFUNDS} refunds as well.",
    )


class OrderTimelineQuery(TimelineQuery):
    """Content of the timeline of an order."""

    refunds: Literal["true", "false"] = Field(
        default="false",
        description=f"With true, the events of the order's newest {MAX_TIMELINE_REFUNDS} refunds as well.",
    )


class NewOrder(RequestModel):
    """Terms of an order: an exact amount, or a maximum."""

    id: ObjectId | None = Field(
        default=None, description="Id of the order; derived from the Idempotency-Key by default."
    )
    payer: AccountAddress | None = Field(
        default=None, description="Account of the buyer; without it, the first account that signs becomes the payer."
    )
    amount: Amount | None = Field(default=None, description="Exact amount to capture, in smallest units, as a string.")
    maximum: Amount | None = Field(
        default=None, description="Maximum amount to capture by the checkout contract, instead of amount."
    )
    valid_after: Time | None = Field(default=None, description="Unix time in seconds, exclusive; default 0.")
    valid_before: EndTime | None = Field(default=None, description="Unix time in seconds, exclusive.")
    valid_seconds: Annotated[int, Field(ge=1, le=_YEAR)] | None = Field(
        default=None, description="Validity in seconds from the newest block, instead of valid_before."
    )
    destination: DestinationText | None = Field(
        default=None, description="Destination of the payment; default the first."
    )
    reference: Reference | None = Field(default=None, description="The merchant's own name of the order.")
    auto_capture: bool | None = Field(
        default=None, description="Capture the order as soon as its signature is stored; default false."
    )
    metadata: Metadata | None = Field(default=None, description="The merchant's own data: texts by name.")
    success_url: ReturnUrl | None = Field(
        default=None, description="Page of the shop to which the checkout page returns after the payment."
    )
    cancel_url: ReturnUrl | None = Field(
        default=None, description="Page of the shop to which the checkout page returns without a payment."
    )


class OrderSignature(RequestModel):
    """A signature of an order's payer."""

    signature: Signature = Field(description="Signature of the payer over the typed data.")
    payer: AccountAddress | None = Field(
        default=None, description="Account that signed; required if the order has no payer yet."
    )


class CancellationSignature(RequestModel):
    """A signature of an order's payer over the cancellation."""

    signature: Signature = Field(description="Signature of the payer over the typed data.")


class OrderCapture(RequestModel):
    """Capture of an order."""

    amount: Amount | None = Field(
        default=None, description="Amount to capture of an order with a maximum, in smallest units."
    )


class OrderVoid(RequestModel):
    """Void of an order."""

    reason: ShortText | None = Field(default=None, description="Reason shown in the timeline.")


class OrdersQuery(CreatedQuery):
    """Filters of orders."""

    state: Selected[OrderState] | None = Field(default=None, description="Filter by state.")
    finality: Selected[Finality] | None = Field(default=None, description="Filter by finality.")
    tx_status: ActiveTxStatus | None = Field(default=None, description="Filter by transaction status.")
    destination: DestinationText | None = Field(default=None, description="Filter by destination.")
    payer: AccountAddress | None = Field(default=None, description="Filter by buyer.")
    nonce: Bytes32 | None = Field(default=None, description="Filter by nonce of the authorization.")
    id: ObjectId | None = Field(default=None, description="Filter by prefix of the id.")
    reference: Reference | None = Field(default=None, description="Filter by the merchant's reference.")
    transaction: Bytes32 | None = Field(default=None, description="Filter by paying transaction.")
    amount_from: Amount | None = Field(default=None, description="Only amounts of at least this, in smallest units.")
    amount_to: Amount | None = Field(default=None, description="Only amounts of at most this, in smallest units.")


class TypedDataQuery(RequestModel):
    """Purpose of a signature."""

    purpose: Literal["pay", "cancel"] = Field(default="pay", description="Action that the payer signs.")
    payer: AccountAddress | None = Field(
        default=None, description="Account that will sign; required if the order has no payer yet."
    )
