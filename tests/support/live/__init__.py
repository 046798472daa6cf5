"""A real `foreseal` process for tests, and clients for it: see tests/README.md."""

from live.accounts import DEV_ACCOUNTS
from live.blocks import in_one_block, wait_for
from live.process import LiveNode, live_node
from live.rpc import HttpAnswer, Rpc, RpcFailure

__all__ = [
    "DEV_ACCOUNTS",
    "HttpAnswer",
    "LiveNode",
    "Rpc",
    "RpcFailure",
    "in_one_block",
    "live_node",
    "wait_for",
]
