"""What goes wrong between the ledger and a node.

ChainError
├── Unanswered      no answer: whether the call was executed is not known
├── Refused         the node answered with an error
│   ├── NonceTooLow     the account nonce is used
│   └── Underpriced     another transaction with the account nonce pays too much to be replaced
├── Reverted        the call would revert; `reason` is its text
├── Incomplete      the node's answer lacks what it must have
├── Moving          the chain was reorganised while it was read
└── FinalityBroken  what was final is no longer on the chain
"""


class ChainError(Exception):
    """Nothing is known or was done, unless the error says otherwise."""


class Unanswered(ChainError):
    """The connection broke or the time was over: whether the call was executed is not known."""


class Refused(ChainError):
    """The node answered with an error object."""


class NonceTooLow(Refused):
    """The account nonce is used by a transaction that is on the chain: perhaps this one."""


class Underpriced(Refused):
    """A replacement must pay at least 10 % more than what is in the pool."""


class Reverted(ChainError):
    """A call or an estimate reverts."""

    def __init__(self, reason: str, data: bytes) -> None:
        super().__init__(reason, data)
        self.reason = reason
        """Text of the revert (Error(string)), or what the node says."""
        self.data = data

    def __str__(self) -> str:
        return f"reverts: {self.reason}"


class Incomplete(ChainError):
    """A block or a field is missing where every node has one."""


class Moving(ChainError):
    """The answers are of different chains: ask again."""


class FinalityBroken(ChainError):
    """A transfer that was in a final block is gone: nothing goes on before somebody has looked at the node."""
