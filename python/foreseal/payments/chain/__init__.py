"""Queries to an Ethereum node and to the token contract on it."""

from foreseal.payments.chain.ahead import Batches, Wish, ahead
from foreseal.payments.chain.checkout import Checkout
from foreseal.payments.chain.errors import (
    ChainError,
    ChainReorganized,
    FinalityBroken,
    Incomplete,
    NonceTooLow,
    Refused,
    Reverted,
    Unanswered,
    Underpriced,
)
from foreseal.payments.chain.holders import Parts, forbidden
from foreseal.payments.chain.moment import Moment
from foreseal.payments.chain.node import Block, Head, Log, LogFilter, Node, Receipt
from foreseal.payments.chain.policy import Heads, Policy, Tier, heads
from foreseal.payments.chain.rpc import RpcNode
from foreseal.payments.chain.token import Token, Transfer

__all__ = [
    "Batches",
    "Block",
    "ChainError",
    "ChainReorganized",
    "Checkout",
    "FinalityBroken",
    "Head",
    "Heads",
    "Incomplete",
    "Log",
    "LogFilter",
    "Moment",
    "Node",
    "NonceTooLow",
    "Parts",
    "Policy",
    "Receipt",
    "Refused",
    "Reverted",
    "RpcNode",
    "Tier",
    "Token",
    "Transfer",
    "Unanswered",
    "Underpriced",
    "Wish",
    "ahead",
    "forbidden",
    "heads",
]
