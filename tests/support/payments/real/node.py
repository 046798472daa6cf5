"""The real node with the interface of the node in memory: lost responses and recorded calls."""

from typing import Any

from payments.fake.node import Disturbed
from payments.real.chain import RealChain


class RealNode(Disturbed):
    """A development node in this process."""

    def __init__(self, chain: RealChain) -> None:
        super().__init__()
        self.chain = chain

    def answer(self, method: str, *params: Any) -> Any:
        return self.chain.rpc(method, *params)

    def number(self, name: str) -> int:
        return int(name, 16) if name.startswith("0x") else self.chain.number(name)


def make_node_chain(finality: int) -> tuple[RealChain, RealNode]:
    """Return the chain of a new node, with the contracts."""
    chain = RealChain(finality)
    return chain, RealNode(chain)
