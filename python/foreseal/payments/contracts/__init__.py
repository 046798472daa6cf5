"""The contracts of the payment side: sources, compiled code, and how they get onto a chain.

`load` has a compiled contract by its name; `TokenSetup` and `TokenGenesis` put the token on a chain, by a transaction
or from its genesis on.
"""

from foreseal.payments.contracts.artifact import Artifact, Variable, load
from foreseal.payments.contracts.token import TokenGenesis, TokenSetup

__all__ = ["Artifact", "TokenGenesis", "TokenSetup", "Variable", "load"]
