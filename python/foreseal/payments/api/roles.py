"""Roles of API keys."""

from enum import StrEnum


class Role(StrEnum):
    """Role of an API key. Every role except PUBLISHABLE may read."""

    READER = "reader"
    CASHIER = "cashier"
    """Orders: create, submit signatures, capture, void, cancel."""
    REFUNDER = "refunder"
    """Refunds."""
    ADMIN = "admin"
    """Everything, including payouts, unmatched transfers and webhooks."""
    PUBLISHABLE = "publishable"
    """The checkout of one order, with the order's client secret. Such a key may be public."""
