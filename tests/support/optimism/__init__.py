"""OP chains for tests: genesis, deposits, nodes with the Engine API, and a driver that simulates op-node."""

from optimism.deposits import deposit, l1_attributes_deposit
from optimism.driver import Driver, PlainDriver
from optimism.genesis import Fork, op_genesis, plain_genesis
from optimism.l1 import L1Attributes, L1Block, SimulatedL1
from optimism.node import OptimismNode, optimism_node

__all__ = [
    "Driver",
    "Fork",
    "L1Attributes",
    "L1Block",
    "OptimismNode",
    "PlainDriver",
    "SimulatedL1",
    "deposit",
    "l1_attributes_deposit",
    "op_genesis",
    "optimism_node",
    "plain_genesis",
]
