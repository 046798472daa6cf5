"""A chain for tests that has the payment contracts, as `foreseal dev --payments` has them."""

from dataclasses import replace

from foreseal.payments.contracts.development import Development
from foreseal.testing import ChainSettings


def people_of(settings: ChainSettings) -> Development:
    """Who is who on such a chain. Raises ValueError for fewer than four accounts."""
    return Development.of([account.address for account in settings.derived()])


def with_payments(settings: ChainSettings | None = None) -> ChainSettings:
    """The settings of a `foreseal.testing.Chain` with payments. Raises ValueError for fewer than four accounts."""
    given = settings or ChainSettings()
    return replace(given, alloc=people_of(given).alloc(given.chain_id))
