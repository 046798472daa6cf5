"""The routes of the service, by what they are about."""

from foreseal.payments.service.routes import books, hooks, orders, payouts, refunds

ROUTES = (*orders.ROUTES, *refunds.ROUTES, *payouts.ROUTES, *books.ROUTES, *hooks.ROUTES)
"""All that need an API key."""

__all__ = ["ROUTES"]
