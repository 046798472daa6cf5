"""Receipts of an OP chain: consensus encoding, bloom filters, root."""

from typing import NamedTuple

import rlp
from eth_bloom.bloom import BloomFilter
from trie.hexary import HexaryTrie

from optimism.model.transactions import DEPOSIT_TYPE, LEGACY, minimal

DEPOSIT_RECEIPT_VERSION = 1


class ConsensusLog(NamedTuple):
    """A log of a contract."""

    address: bytes
    topics: tuple[bytes, ...]
    data: bytes


class ConsensusReceipt(NamedTuple):
    """Fields of a receipt in the receipts root. `deposit_nonce` is None unless the transaction is a deposit."""

    kind: int
    succeeded: bool
    cumulative_gas: int
    logs: tuple[ConsensusLog, ...]
    deposit_nonce: int | None

    def bloom(self) -> bytes:
        """Return the bloom filter of the logs."""
        return logs_bloom(self.logs)

    def encode(self) -> bytes:
        """Return the encoding; that of a deposit ends with its nonce and the receipt version (Canyon)."""
        logs = [[log.address, list(log.topics), log.data] for log in self.logs]
        fields = [minimal(int(self.succeeded)), minimal(self.cumulative_gas), self.bloom(), logs]
        assert (self.kind == DEPOSIT_TYPE) == (self.deposit_nonce is not None)
        if self.deposit_nonce is not None:
            fields += [minimal(self.deposit_nonce), minimal(DEPOSIT_RECEIPT_VERSION)]
        prefix = b"" if self.kind == LEGACY else bytes([self.kind])
        return prefix + bytes(rlp.encode(fields))


def logs_bloom(logs: tuple[ConsensusLog, ...]) -> bytes:
    """Return the bloom filter of these logs."""
    bloom = BloomFilter()
    for log in logs:
        bloom.extend([log.address, *log.topics])
    return int(bloom).to_bytes(256, "big")


def ordered_root(items: list[bytes]) -> bytes:
    """Return the root of a trie of these items by their index: transactions or receipts."""
    trie = HexaryTrie({})
    for index, item in enumerate(items):
        trie[rlp.encode(index)] = item
    return bytes(trie.root_hash)
