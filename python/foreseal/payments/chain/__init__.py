"""Queries to an Ethereum node and to the token contract on it."""

from foreseal.payments.chain.cached_heads import CachedHeads
from foreseal.payments.chain.checkout import Checkout
from foreseal.payments.chain.circuit_breaker import (
    BreakerSettings,
    BreakerState,
    CircuitBreaker,
    FailureKind,
    GuardedClient,
)
from foreseal.payments.chain.confirmation_policy import ConfirmationPolicy, ConfirmationTier, Heads, heads
from foreseal.payments.chain.errors import (
    ChainError,
    ChainReorganized,
    CircuitOpen,
    CodeTimeout,
    FinalityBroken,
    Incomplete,
    InvalidTransaction,
    NodeUnavailable,
    NonceTooLow,
    NoResponse,
    RejectedByNode,
    Reverted,
    TemporaryRejection,
    TooManyCalls,
    Underpriced,
)
from foreseal.payments.chain.node import (
    BlockHead,
    BlockTag,
    ChainLog,
    ChainNode,
    ChainReceipt,
    ChainTransaction,
    LogFilter,
    NodeRequest,
    SimulatedTransaction,
)
from foreseal.payments.chain.request_batch import PendingAnswer, RequestBatch
from foreseal.payments.chain.rpc_node import BatchClient, RpcNode
from foreseal.payments.chain.stranger_calls import StrangerCalls, stranger_options
from foreseal.payments.chain.token import Transfer
from foreseal.payments.chain.token_reads import Token, TokenReads
from foreseal.payments.chain.transfer_restrictions import (
    RestrictionReads,
    TransferParties,
    find_forbidden_account,
)

__all__ = [
    "BatchClient",
    "BlockHead",
    "BlockTag",
    "BreakerSettings",
    "BreakerState",
    "CachedHeads",
    "ChainError",
    "ChainLog",
    "ChainNode",
    "ChainReceipt",
    "ChainReorganized",
    "ChainTransaction",
    "Checkout",
    "CircuitBreaker",
    "CircuitOpen",
    "CodeTimeout",
    "ConfirmationPolicy",
    "ConfirmationTier",
    "FailureKind",
    "FinalityBroken",
    "GuardedClient",
    "Heads",
    "Incomplete",
    "InvalidTransaction",
    "LogFilter",
    "NoResponse",
    "NodeRequest",
    "NodeUnavailable",
    "NonceTooLow",
    "PendingAnswer",
    "RejectedByNode",
    "RequestBatch",
    "RestrictionReads",
    "Reverted",
    "RpcNode",
    "SimulatedTransaction",
    "StrangerCalls",
    "TemporaryRejection",
    "Token",
    "TokenReads",
    "TooManyCalls",
    "Transfer",
    "TransferParties",
    "Underpriced",
    "find_forbidden_account",
    "heads",
    "stranger_options",
]
