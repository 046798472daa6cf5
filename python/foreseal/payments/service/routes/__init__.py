"""Routes of the service, by topic."""

from foreseal.payments.service.routes import books, hooks, orders, payouts, refunds

ROUTES = (*orders.ROUTES, *refunds.ROUTES, *payouts.ROUTES, *books.ROUTES, *hooks.ROUTES)
"""Routes that need an API key."""

__all__ = ["ROUTES"]
