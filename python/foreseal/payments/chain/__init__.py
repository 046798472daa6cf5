"""Queries to an Ethereum node and to the token contract on it."""

from foreseal.payments.chain.cached_heads import CachedHeads
from foreseal.payments.chain.checkout import Checkout
from foreseal.payments.chain.confirmation_policy import Heads, Policy, Tier, heads
from foreseal.payments.chain.errors import (
    ChainError,
    ChainReorganized,
    FinalityBroken,
    Incomplete,
    NonceTooLow,
    RejectedByNode,
    Reverted,
    Unanswered,
    Underpriced,
)
from foreseal.payments.chain.node import Block, Head, Log, LogFilter, Node, Receipt
from foreseal.payments.chain.prefetch import Batches, Wish, ahead
from foreseal.payments.chain.rpc_node import RpcNode
from foreseal.payments.chain.token import Token, Transfer
from foreseal.payments.chain.transfer_restrictions import TransferParties, forbidden

__all__ = [
    "Batches",
    "Block",
    "CachedHeads",
    "ChainError",
    "ChainReorganized",
    "Checkout",
    "FinalityBroken",
    "Head",
    "Heads",
    "Incomplete",
    "Log",
    "LogFilter",
    "Node",
    "NonceTooLow",
    "Policy",
    "Receipt",
    "RejectedByNode",
    "Reverted",
    "RpcNode",
    "Tier",
    "Token",
    "Transfer",
    "TransferParties",
    "Unanswered",
    "Underpriced",
    "Wish",
    "ahead",
    "forbidden",
    "heads",
]
