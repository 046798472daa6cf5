"""What is refused before anything is sent.

SendingError
├── StillOpen       an earlier transaction for the same thing may still land
├── FeeTooHigh      the chain asks for more than the limit
└── WrongChain      the node is of another chain than the sender signs for
"""


class SendingError(Exception):
    """Nothing was signed or sent."""


class StillOpen(SendingError):
    """A second transaction would have an account nonce of its own, and both could land."""


class FeeTooHigh(SendingError):
    """Wei per gas are beyond `Fees.most`."""


class WrongChain(SendingError):
    """A signature for one chain must not be made by what another one says."""
