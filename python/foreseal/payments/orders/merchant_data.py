"""The merchant's own data of an order. The ledger only stores it."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class MerchantData:
    """Reference and metadata of an order."""

    reference: str | None = None
    """Name of the order in the merchant's own system; several orders may share it."""
    metadata: Mapping[str, str] = field(default_factory=dict)
    success_url: str | None = None
    """Page to which the checkout page returns after the payment."""
    cancel_url: str | None = None
    """Page to which the checkout page returns without a payment."""

    @property
    def metadata_json(self) -> str | None:
        """The metadata as stored; None if it is empty."""
        return json.dumps(dict(self.metadata), sort_keys=True) if self.metadata else None


NO_DATA = MerchantData()


def parse_metadata(stored: str | None) -> dict[str, str]:
    """Return the metadata of a stored text; empty without one."""
    if stored is None:
        return {}
    metadata: dict[str, str] = json.loads(stored)
    return metadata
