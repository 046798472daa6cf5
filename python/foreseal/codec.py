"""Ethereum's encodings, computed natively: keccak-256, RLP, signatures, log blooms and Merkle-Patricia tries.

Arguments and results are bytes; hexadecimal text is never interpreted as bytes. For many values, prefer the
``_batch`` form: it crosses into native code once and hashes several values at a time.

Every function raises TypeError for an argument of the wrong type and ValueError for a wrong value; the
message, or the note attached to it, names the argument.

>>> from foreseal.codec import keccak, rlp_encode
>>> keccak(rlp_encode([])).hex()
'1dcc4de8dec75d7aab85b567b6ccd41ad312451b948a7413f0a142fd40d49347'
"""

from foreseal._core import (
    Trie,
    bloom_contains,
    bloom_contains_batch,
    checksum_address,
    keccak,
    keccak_batch,
    logs_bloom,
    logs_bloom_batch,
    ordered_trie_root,
    ordered_trie_root_batch,
    recover_addresses,
    rlp_decode,
    rlp_decode_batch,
    rlp_encode,
    rlp_encode_batch,
    sign_digests,
    trie_root,
    verify_proof,
)

__all__ = [
    "Trie",
    "bloom_contains",
    "bloom_contains_batch",
    "checksum_address",
    "keccak",
    "keccak_batch",
    "logs_bloom",
    "logs_bloom_batch",
    "ordered_trie_root",
    "ordered_trie_root_batch",
    "recover_addresses",
    "rlp_decode",
    "rlp_decode_batch",
    "rlp_encode",
    "rlp_encode_batch",
    "sign_digests",
    "trie_root",
    "verify_proof",
]
