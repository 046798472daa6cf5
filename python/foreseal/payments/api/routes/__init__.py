"""Routes of the service, by topic."""

from foreseal.payments.api.routes import (
    accounting,
    export,
    key_requests,
    orders,
    payments,
    payouts,
    refunds,
    statistics,
    transfer_refunds,
    webhooks,
)

ROUTES = (
    *payments.ROUTES,
    *orders.ROUTES,
    *refunds.ROUTES,
    *payouts.ROUTES,
    *accounting.ROUTES,
    *export.ROUTES,
    *statistics.ROUTES,
    *transfer_refunds.ROUTES,
    *webhooks.ROUTES,
    *key_requests.ROUTES,
)
"""Routes that need an API key."""

__all__ = ["ROUTES"]
