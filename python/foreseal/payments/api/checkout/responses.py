"""Responses of the checkout as types: what a shopper with the client secret of an order may read."""

from enum import StrEnum
from typing import Annotated

from pydantic import Field
from typing_extensions import TypedDict

from foreseal.payments.api.responses import (
    AddressText,
    ErrorBody,
    HashText,
    Money,
    TypedData,
    UnitsText,
    UnixTime,
    Unsigned,
)
from foreseal.payments.orders.capture_checks import CaptureObstacle


class CheckoutStatus(StrEnum):
    """Status of an order for its shopper."""

    OPEN = "open"
    """It can be paid."""
    AUTHORIZED = "authorized"
    """It is signed; the shop has not captured it yet."""
    PROCESSING = "processing"
    """The transaction is under way."""
    PRECONFIRMED = "preconfirmed"
    """A step of the block under construction, or a block, includes the payment."""
    CONFIRMED = "confirmed"
    FINAL = "final"
    FAILED = "failed"
    """The transaction had no effect."""
    CANCELED = "canceled"
    EXPIRED = "expired"


class ChainStatus(StrEnum):
    """Status of the node of the service."""

    OK = "ok"
    BEHIND = "behind"
    """Its newest block is old, or the service has not read the newest blocks."""
    UNREACHABLE = "unreachable"


class CheckoutToken(TypedDict):
    """Token of the payment."""

    address: AddressText
    symbol: str
    decimals: Unsigned
    name: Annotated[str, Field(description="Name in the signing domain of the token.")]


class CheckoutNetwork(TypedDict):
    """Network of the payment."""

    chain_id: Unsigned
    name: str
    rpc_url: Annotated[str | None, Field(description="URL of a public node for wallets.")]
    explorer_url: Annotated[str | None, Field(description="URL of a block explorer.")]


class CheckoutOrder(Money):
    """An order, as its shopper sees it."""

    id: str
    status: CheckoutStatus
    version: Annotated[str, Field(description="Changes with the status; see the parameter version.")]
    merchant_name: str
    description: Annotated[str | None, Field(description="The entry description of the order's metadata.")]
    is_maximum: Annotated[bool, Field(description="True if the shop may capture less than the amount.")]
    token: CheckoutToken
    network: CheckoutNetwork
    payee: Annotated[AddressText, Field(description="Account that receives the payment.")]
    spender: Annotated[
        AddressText | None, Field(description="Contract that captures an order with a maximum; null for others.")
    ]
    payer: Annotated[AddressText | None, Field(description="Account of the buyer; null before the first signature.")]
    valid_before: UnixTime
    pay_before: Annotated[UnixTime, Field(description="Time after which the order is not captured any more.")]
    now: Annotated[UnixTime, Field(description="Time of the service.")]
    is_delayed: Annotated[bool, Field(description="True if the last attempt to capture the order was rejected.")]
    transaction_hash: Annotated[HashText | None, Field(description="Transaction that paid the order.")]
    chain_status: ChainStatus
    success_url: str | None
    cancel_url: str | None
    message_origins: Annotated[
        list[str], Field(description="Origins of the shop, to which the page may report the status.")
    ]
    pretend_wallet: Annotated[bool, Field(description="True if the page offers a wallet with public test keys.")]


class CheckoutDetail(TypedDict):
    """An order for its shopper."""

    order: CheckoutOrder


class CheckoutPayment(TypedDict):
    """Typed data and balance of an account that will pay an order."""

    typed_data: TypedData
    payer: AddressText
    balance: UnitsText
    balance_shown: str
    is_sufficient: bool


class CheckoutAuthorized(CheckoutDetail):
    """An order with a stored signature."""

    capture_error: Annotated[ErrorBody | None, Field(description="Reason why the order is not captured yet.")]
    obstacle: Annotated[CaptureObstacle | None, Field(description="Obstacle to the capture.")]
