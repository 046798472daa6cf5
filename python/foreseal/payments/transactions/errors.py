"""Errors before anything is sent.

```text
SendingError
├── TransactionStillOpen  an earlier transaction for the same purpose may still be included
├── FeeTooHigh            the chain requires more than the limit
├── GasTooHigh            the call needs more gas than a transaction, or the code of payers, may have
├── GasBudgetSpent        transactions that reverted because of the payer cost its budget of gas
├── GasBudgetInUse        transactions in flight may cost the rest of the budget of payers with code
├── TransactionTooLarge   the transaction has more bytes than nodes accept
├── WrongChain            the node serves another chain than the sender signs for
├── WrongAccount          the transaction belongs to another account than the key's
└── SignerUnavailable     the service that has the key returned no valid signature
```
"""


class SendingError(Exception):
    """Nothing was signed or sent."""


class TransactionStillOpen(SendingError):
    """An earlier transaction may still be included. A second one would have another account nonce, so both could be."""


class FeeTooHigh(SendingError):
    """The fee in wei per gas exceeds `FeeSettings.max_fee`."""


class GasTooHigh(SendingError):
    """The call needs more gas than a transaction of the next block, or the code of payers, may have."""

    def __init__(self, message: str, payer_maximum: int | None = None) -> None:
        super().__init__(message)
        self.payer_maximum = payer_maximum
        """Maximum gas of the call because of the code of payers; None if a transaction may not have as much."""


class GasBudgetSpent(SendingError):
    """Reverted transactions of the payer, or of all payers with code, cost their budget of gas within the last hour."""


class GasBudgetInUse(SendingError):
    """Transactions without a receipt may cost the rest of the gas that payers with code may waste within an hour."""

    retry_after = 1.0
    """Seconds after which a retry may succeed: a receipt may have released gas by then."""


class TransactionTooLarge(SendingError):
    """The encoded transaction is larger than nodes accept."""


class WrongChain(SendingError):
    """The node serves another chain, so its data must not lead to a signature for this one."""


class WrongAccount(SendingError):
    """A transaction has the account nonce of one account, so no other account's key may sign it."""


class SignerUnavailable(SendingError):
    """The service that has the key did not return a valid signature of it."""
