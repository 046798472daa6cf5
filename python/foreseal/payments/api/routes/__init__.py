"""Routes of the service, by topic."""

from foreseal.payments.api.routes import accounting, orders, payments, payouts, refunds, transfer_refunds, webhooks

ROUTES = (
    *payments.ROUTES,
    *orders.ROUTES,
    *refunds.ROUTES,
    *payouts.ROUTES,
    *accounting.ROUTES,
    *transfer_refunds.ROUTES,
    *webhooks.ROUTES,
)
"""Routes that need an API key."""

__all__ = ["ROUTES"]
