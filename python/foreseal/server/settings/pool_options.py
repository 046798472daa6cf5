"""Settings of the pool; the table describes each field."""

from dataclasses import dataclass

PUBLIC_MIN_TIP = 1_000_000
"""Minimum tip of a public node, in wei per gas."""
PUBLIC_MAX_GAS = 1 << 24
"""Maximum gas of a transaction of a public node: the cap of Osaka (EIP-7825)."""


@dataclass(frozen=True, slots=True)
class PoolOptions:
    """Rules for submissions, in wei per gas and in gas; None is the default of the kind of node."""

    min_tip: int | None = None
    max_gas: int | None = None
    """Maximum gas of one transaction; 0 for that of the fork alone."""

    def for_core(self, *, public: bool) -> dict[str, int | None]:
        """Return the core's settings of the pool of a node that is public or not."""
        min_tip, max_gas = (PUBLIC_MIN_TIP, PUBLIC_MAX_GAS) if public else (0, 0)
        min_tip = min_tip if self.min_tip is None else self.min_tip
        max_gas = max_gas if self.max_gas is None else self.max_gas
        return {"min_tip": min_tip, "max_gas": max_gas or None}
