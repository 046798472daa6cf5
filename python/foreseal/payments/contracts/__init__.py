"""The contracts of the payment side: sources, compiled code, and how they get onto a chain.

`load` has a compiled contract by its name, `Artifact.creation` the data of a transaction that creates it. `TokenSetup`
is what a token begins with; `token_alloc`, `x402_alloc`, `checkout_entry` and `payouts_entry` are for a genesis file.
"""

from foreseal.payments.contracts.artifact import Artifact, Variable, load
from foreseal.payments.contracts.genesis import checkout_entry, payouts_entry, token_alloc, x402_alloc
from foreseal.payments.contracts.token import TokenGenesis, TokenSetup

__all__ = [
    "Artifact",
    "TokenGenesis",
    "TokenSetup",
    "Variable",
    "checkout_entry",
    "load",
    "payouts_entry",
    "token_alloc",
    "x402_alloc",
]
