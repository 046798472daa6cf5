"""Queries to an Ethereum node and to the token contract on it."""

from foreseal.payments.chain.ahead import Batches, Wish, ahead
from foreseal.payments.chain.cached_heads import CachedHeads
from foreseal.payments.chain.checkout import Checkout
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
from foreseal.payments.chain.holders import TransferParties, forbidden
from foreseal.payments.chain.node import Block, Head, Log, LogFilter, Node, Receipt
from foreseal.payments.chain.policy import Heads, Policy, Tier, heads
from foreseal.payments.chain.rpc import RpcNode
from foreseal.payments.chain.token import Token, Transfer

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
