"""Nodes of OP chains under a driver that tests play, and the recordings of a stock driver."""

from optimism.engine_client import EngineClient
from optimism.engine_node import EngineNode, engine_node
from optimism.small_genesis import plain_genesis, small_genesis

__all__ = ["EngineClient", "EngineNode", "engine_node", "plain_genesis", "small_genesis"]
