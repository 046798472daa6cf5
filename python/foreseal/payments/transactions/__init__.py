"""Transactions of the merchant's key: one account nonce each, stored before they are sent."""

from foreseal.payments.transactions.advance import advance_rows
from foreseal.payments.transactions.call_estimates import (
    MAX_TRANSACTION_GAS,
    fits_transaction,
)
from foreseal.payments.transactions.code_gas import find_included, release_code_gas
from foreseal.payments.transactions.errors import (
    FeeTooHigh,
    GasBudgetInUse,
    GasBudgetSpent,
    GasTooHigh,
    SendingError,
    SignerUnavailable,
    TransactionStillOpen,
    TransactionTooLarge,
    WrongAccount,
    WrongChain,
)
from foreseal.payments.transactions.fees import GWEI, FeeQuote, FeeSettings
from foreseal.payments.transactions.http_signer import HttpSigner, SignerConnection
from foreseal.payments.transactions.intents import (
    NewIntent,
    TransactionCall,
    TransactionIntents,
    close_included,
    close_intent,
    is_intent_open,
    open_intent,
    open_subjects,
    read_intent,
)
from foreseal.payments.transactions.lost_gas import LostGas, RevertedPayment, read_lost_gas
from foreseal.payments.transactions.open_transactions import (
    OpenTransaction,
    WaitingTransaction,
    first_waiting,
    open_transactions,
)
from foreseal.payments.transactions.sender import (
    DeliveryResult,
    DeliveryStatus,
    TransactionOutcome,
    TransactionSender,
    block_finality,
    building_head,
    classify_finality,
)
from foreseal.payments.transactions.signer import (
    LocalSigner,
    TransactionSigner,
    UnsignedTransaction,
)
from foreseal.payments.transactions.status_updates import record_deliveries, record_delivery, record_outcome

__all__ = [
    "GWEI",
    "MAX_TRANSACTION_GAS",
    "DeliveryResult",
    "DeliveryStatus",
    "FeeQuote",
    "FeeSettings",
    "FeeTooHigh",
    "GasBudgetInUse",
    "GasBudgetSpent",
    "GasTooHigh",
    "HttpSigner",
    "LocalSigner",
    "LostGas",
    "NewIntent",
    "OpenTransaction",
    "RevertedPayment",
    "SendingError",
    "SignerConnection",
    "SignerUnavailable",
    "TransactionCall",
    "TransactionIntents",
    "TransactionOutcome",
    "TransactionSender",
    "TransactionSigner",
    "TransactionStillOpen",
    "TransactionTooLarge",
    "UnsignedTransaction",
    "WaitingTransaction",
    "WrongAccount",
    "WrongChain",
    "advance_rows",
    "block_finality",
    "building_head",
    "classify_finality",
    "close_included",
    "close_intent",
    "find_included",
    "first_waiting",
    "fits_transaction",
    "is_intent_open",
    "open_intent",
    "open_subjects",
    "open_transactions",
    "read_intent",
    "read_lost_gas",
    "record_deliveries",
    "record_delivery",
    "record_outcome",
    "release_code_gas",
]
