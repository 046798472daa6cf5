"""Hostile traffic: every pattern is a function that one address runs until its time is over."""

from hostile.patterns import (
    chain_data,
    chain_findings,
    envelopes,
    execution,
    framing,
    pool,
    reading,
    tls,
    tracing,
    websocket,
)
from hostile.patterns.registry import PATTERNS, Pattern

__all__ = [
    "PATTERNS", "Pattern", "chain_data", "chain_findings", "envelopes", "execution", "framing", "pool", "reading",
    "tls", "tracing", "websocket",
]  # fmt: skip
