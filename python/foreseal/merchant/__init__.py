"""Clients of the merchant's HTTP API (`foreseal pay serve`): typed methods, retries, pages and errors.

    with MerchantClient("https://pay.example", api_key) as client:
        made = client.create_order(payer=buyer, amount="12340000")
        client.submit_order_signature(made["order"]["id"], signature=wallet.sign(made["typed_data"]))
        client.capture_order(made["order"]["id"])

`AsyncMerchantClient` is the asyncio counterpart. The methods and `foreseal.merchant.types` are generated from the
OpenAPI document of the service. Install them with `pip install 'foreseal[client]'`.
"""

from foreseal.client.backoff import Backoff
from foreseal.merchant.authorization import PaymentAuthorization, SignedPayment, TokenDomain
from foreseal.merchant.clients import AsyncMerchantClient, MerchantClient
from foreseal.merchant.errors import (
    AccessDenied,
    InvalidRequest,
    InvalidServiceResponse,
    MerchantError,
    NoServiceResponse,
    RequestFailed,
    RequestUnprocessable,
    ResourceNotFound,
    ServiceUnavailable,
    StateConflict,
)
from foreseal.merchant.retries import RetryPolicy

__all__ = [
    "AccessDenied",
    "AsyncMerchantClient",
    "Backoff",
    "InvalidRequest",
    "InvalidServiceResponse",
    "MerchantClient",
    "MerchantError",
    "NoServiceResponse",
    "PaymentAuthorization",
    "RequestFailed",
    "RequestUnprocessable",
    "ResourceNotFound",
    "RetryPolicy",
    "ServiceUnavailable",
    "SignedPayment",
    "StateConflict",
    "TokenDomain",
]
