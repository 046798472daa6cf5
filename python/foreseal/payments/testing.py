"""A test chain with the payment contracts of `foreseal dev --payments`."""

from dataclasses import replace

from foreseal.payments.contracts.development import DevelopmentContracts
from foreseal.testing import ChainSettings


def development_contracts(settings: ChainSettings) -> DevelopmentContracts:
    """Return the roles of the chain's accounts. Raises ValueError for fewer than four accounts."""
    return DevelopmentContracts.from_accounts([account.address for account in settings.derived()])


def with_payments(settings: ChainSettings | None = None) -> ChainSettings:
    """Return settings of a `foreseal.testing.Chain` with payments. Raises ValueError for fewer than four accounts."""
    chain_settings = settings or ChainSettings()
    return replace(chain_settings, alloc=development_contracts(chain_settings).alloc(chain_settings.chain_id))
