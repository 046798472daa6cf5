"""A node that requests each block's head once, for one pass over many rows."""

from foreseal.payments.chain.node import BlockHead, BlockTag, ChainNode


class CachedHeads:
    """A node that caches block heads, except that of the pending block.

    `finalized`, `safe` and `latest` are read before any block that is compared with them. A reorganization during the
    pass therefore makes results late, never wrong: a replaced block matches no receipt. Create a new instance for each
    pass.
    """

    def __init__(self, node: ChainNode) -> None:
        self._node = node
        self._heads: dict[BlockTag, BlockHead | None] = {}
        self.chain_id = node.chain_id
        self.logs = node.logs
        self.receipt = node.receipt
        self.transaction_count = node.transaction_count
        self.code = node.code
        self.call = node.call
        self.estimate_gas = node.estimate_gas
        self.priority_fee = node.priority_fee
        self.send = node.send

    def head(self, block: BlockTag) -> BlockHead | None:
        """Return the head as of its first request. Raises the node's errors."""
        if block == "pending":
            return self._node.head(block)
        if block not in self._heads:
            self._heads[block] = self._node.head(block)
        return self._heads[block]
