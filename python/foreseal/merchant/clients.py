"""Clients of the merchant service."""

from foreseal.merchant.async_methods import AsyncMerchantMethods
from foreseal.merchant.methods import MerchantMethods


class MerchantClient(MerchantMethods):
    """A blocking client of `foreseal pay serve`."""


class AsyncMerchantClient(AsyncMerchantMethods):
    """An asyncio client of `foreseal pay serve`."""
