"""Queries to an Ethereum node and to the token contract on it."""

from foreseal.payments.chain.cached_heads import CachedHeads
from foreseal.payments.chain.checkout import Checkout
from foreseal.payments.chain.confirmation_policy import ConfirmationPolicy, ConfirmationTier, Heads, heads
from foreseal.payments.chain.errors import (
    ChainError,
    ChainReorganized,
    FinalityBroken,
    Incomplete,
    NonceTooLow,
    NoResponse,
    RejectedByNode,
    Reverted,
    Underpriced,
)
from foreseal.payments.chain.node import BlockHead, BlockTag, ChainLog, ChainNode, ChainReceipt, LogFilter
from foreseal.payments.chain.prefetch import BatchClient, NodeQuery, prefetch_node
from foreseal.payments.chain.rpc_node import RpcNode
from foreseal.payments.chain.token import Token, Transfer
from foreseal.payments.chain.transfer_restrictions import TransferParties, find_forbidden_account

__all__ = [
    "BatchClient",
    "BlockHead",
    "BlockTag",
    "CachedHeads",
    "ChainError",
    "ChainLog",
    "ChainNode",
    "ChainReceipt",
    "ChainReorganized",
    "Checkout",
    "ConfirmationPolicy",
    "ConfirmationTier",
    "FinalityBroken",
    "Heads",
    "Incomplete",
    "LogFilter",
    "NoResponse",
    "NodeQuery",
    "NonceTooLow",
    "RejectedByNode",
    "Reverted",
    "RpcNode",
    "Token",
    "Transfer",
    "TransferParties",
    "Underpriced",
    "find_forbidden_account",
    "heads",
    "prefetch_node",
]
