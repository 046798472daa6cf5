"""Buyers and the node of the tests in this folder."""

from payments.x402.fixtures import buyers, node_of_x402, world

__all__ = ["buyers", "node_of_x402", "world"]
