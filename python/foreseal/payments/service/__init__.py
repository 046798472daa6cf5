"""`foreseal pay serve`: the merchant's ledger over HTTP."""

from foreseal.payments.service.backend import Backend
from foreseal.payments.service.running import Service

__all__ = ["Backend", "Service"]
