"""Buyers of the tests in this folder."""

from payments.x402.fixtures import buyers

__all__ = ["buyers"]
