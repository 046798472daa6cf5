"""A node that caches heads and receipts for one pass over many rows."""

from collections.abc import Mapping

from foreseal.payments.chain.node import BlockHead, BlockTag, ChainNode, ChainReceipt


class CachedHeads:
    """A node that caches block heads, except that of the pending block.

    `finalized`, `safe` and `latest` are read before any block that is compared with them. A reorganization during the
    pass therefore makes results late, never wrong: a replaced block matches no receipt. Create a new instance for each
    pass.
    """

    def __init__(self, node: ChainNode, receipts: Mapping[str, ChainReceipt | None] | None = None) -> None:
        """Set up the cache. `receipts` of transactions, by hash, were read at the start of the pass."""
        self._node = node
        self._receipts = receipts or {}
        self._heads: dict[BlockTag, BlockHead | None] = {}
        self.execute = node.execute
        self.batch = node.batch
        self.for_party = node.for_party
        self.chain_id = node.chain_id
        self.logs = node.logs
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

    def receipt(self, hash: str) -> ChainReceipt | None:
        """Return the receipt as of the start of the pass, if it was read then. Raises the node's errors."""
        return self._receipts[hash] if hash in self._receipts else self._node.receipt(hash)
