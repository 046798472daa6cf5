"""OP chains for tests: genesis, deposits, a client of the Engine API, and a driver that simulates op-node."""

from optimism.block_client import BlockClient
from optimism.deposits import deposit, l1_attributes_deposit
from optimism.driver import Driver, Payload, PlainDriver
from optimism.engine_client import EngineClient
from optimism.genesis import Fork, op_genesis, plain_genesis
from optimism.l1 import L1Attributes, L1Block, SimulatedL1
from optimism.node import OptimismNode, optimism_node

__all__ = [
    "BlockClient",
    "Driver",
    "EngineClient",
    "Fork",
    "L1Attributes",
    "L1Block",
    "OptimismNode",
    "Payload",
    "PlainDriver",
    "SimulatedL1",
    "deposit",
    "l1_attributes_deposit",
    "op_genesis",
    "optimism_node",
    "plain_genesis",
]
