"""Contracts of the payment side: sources, compiled code, and deployment to a chain.

`load` returns a compiled contract by name, and `Artifact.creation` the data of the transaction that creates it.
`TokenSetup` is the initial state of a token. `token_alloc`, `x402_alloc`, `checkout_entry`, `batch_capture_entry` and
`payouts_entry` produce entries of a genesis file.
"""

from foreseal.payments.contracts.artifact import Artifact, load
from foreseal.payments.contracts.genesis import (
    batch_capture_entry,
    checkout_entry,
    payouts_entry,
    token_alloc,
    x402_alloc,
)
from foreseal.payments.contracts.token import TokenGenesis, TokenSetup

__all__ = [
    "Artifact",
    "TokenGenesis",
    "TokenSetup",
    "batch_capture_entry",
    "checkout_entry",
    "load",
    "payouts_entry",
    "token_alloc",
    "x402_alloc",
]
