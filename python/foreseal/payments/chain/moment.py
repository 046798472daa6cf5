"""A node for one pass over many things: each block's head is asked for once."""

from foreseal.payments.chain.node import Block, Head, Node


class Moment:
    """A node whose heads stay what they were at first, but for that of the block being built.

    What is final, safe or newest is read before any block that is compared with it, so a chain that moves meanwhile
    makes answers late, never wrong: a block that was replaced fits no receipt. Use it for a pass, and then a new one.
    """

    def __init__(self, node: Node) -> None:
        self._node = node
        self._heads: dict[Block, Head | None] = {}
        self.chain_id = node.chain_id
        self.logs = node.logs
        self.receipt = node.receipt
        self.transaction_count = node.transaction_count
        self.code = node.code
        self.call = node.call
        self.estimate_gas = node.estimate_gas
        self.priority_fee = node.priority_fee
        self.send = node.send

    def head(self, block: Block) -> Head | None:
        """As the node had it when it was asked first. Raises what the node raises."""
        if block == "pending":
            return self._node.head(block)
        if block not in self._heads:
            self._heads[block] = self._node.head(block)
        return self._heads[block]
