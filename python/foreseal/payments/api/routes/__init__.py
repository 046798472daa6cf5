"""Routes of the service, by topic."""

from foreseal.payments.api.routes import accounting as books
from foreseal.payments.api.routes import orders, payouts, refunds, webhooks

ROUTES = (*orders.ROUTES, *refunds.ROUTES, *payouts.ROUTES, *books.ROUTES, *webhooks.ROUTES)
"""Routes that need an API key."""

__all__ = ["ROUTES"]
