"""Layers of the crates: a crate depends on lower layers only."""

CRATES = {
    "cache": 0,
    "keccak": 0,
    "loadgen": 0,
    "rate-limit": 0,
    "scheduler": 0,
    "primitives": 1,
    "trie": 2,
    "state": 3,
    "evm": 4,
    "pool": 4,
    "store": 4,
    "journal": 4,
    "builder": 5,
    "conformance": 5,
    "chain": 6,
    "quorum": 7,
    "replication": 7,
    "node": 8,
    "backup": 8,
    "engine": 9,
    "rpc": 9,
    "py": 10,
}
"""Layer of each crate that the product consists of, by short name."""
