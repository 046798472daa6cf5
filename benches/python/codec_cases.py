"""Benchmarks of foreseal.codec: each function and its PyPI counterpart, on the same input."""

import random

import rlp
from benches.python.case import Case
from Crypto.Hash import keccak as pycryptodome
from eth_bloom import BloomFilter
from trie import HexaryTrie

from foreseal import codec

_GENERATOR = random.Random(1)


def _keccak(data: bytes) -> bytes:
    return pycryptodome.new(digest_bits=256, data=data).digest()


def _bloom(logs: list[tuple[bytes, list[bytes]]]) -> bytes:
    bloom = BloomFilter()
    for address, topics in logs:
        bloom.add(address)
        bloom.extend(topics)
    return int(bloom).to_bytes(256)


def _our_trie(pairs: list[tuple[bytes, bytes]]) -> bytes:
    trie = codec.Trie()
    for key, value in pairs:
        trie[key] = value
    return trie.root()


def _their_trie(pairs: list[tuple[bytes, bytes]]) -> bytes:
    trie = HexaryTrie({})
    for key, value in pairs:
        trie[key] = value
    return bytes(trie.root_hash)


def _their_list_root(items: list[bytes]) -> bytes:
    return _their_trie([(rlp.encode(index), item) for index, item in enumerate(items)])


def codec_cases() -> list[Case]:
    """Return all comparisons, on inputs made from a fixed seed."""
    word = _GENERATOR.randbytes(32)
    node = _GENERATOR.randbytes(532)
    words = [_GENERATOR.randbytes(32) for _ in range(1000)]
    # An EIP-1559 transfer of a token: chain ID, nonce, fees, gas, to, value, data, access list, signature.
    data = _GENERATOR.randbytes(68)
    signature = [1, int.from_bytes(_GENERATOR.randbytes(32)), int.from_bytes(_GENERATOR.randbytes(32))]
    fields = [1, 7, 2 * 10**9, 10**11, 60_000, _GENERATOR.randbytes(20), 10**18, data, [], *signature]
    encoded = rlp.encode(fields)
    logs = [(_GENERATOR.randbytes(20), [_GENERATOR.randbytes(32) for _ in range(3)]) for _ in range(100)]
    pairs = [(_GENERATOR.randbytes(32), _GENERATOR.randbytes(70)) for _ in range(10_000)]
    receipts = [_GENERATOR.randbytes(400) for _ in range(300)]
    return [
        Case("keccak_32_bytes", "pycryptodome", lambda: codec.keccak(word), lambda: _keccak(word), 1, 20),
        Case("keccak_532_bytes", "pycryptodome", lambda: codec.keccak(node), lambda: _keccak(node)),
        Case(
            "keccak_batch_of_1000",
            "pycryptodome",
            lambda: codec.keccak_batch(words),
            lambda: [_keccak(item) for item in words],
            1000,
            20,
        ),
        Case("rlp_encode_1559", "rlp", lambda: codec.rlp_encode(fields), lambda: rlp.encode(fields), 1, 20),
        Case("rlp_decode_1559", "rlp", lambda: codec.rlp_decode(encoded), lambda: rlp.decode(encoded)),
        Case("bloom_of_100_logs", "eth-bloom", lambda: codec.logs_bloom(logs), lambda: _bloom(logs), 1, 50),
        Case("trie_10000_insertions", "trie", lambda: _our_trie(pairs), lambda: _their_trie(pairs), 1, 100),
        Case(
            "list_root_of_300",
            "trie",
            lambda: codec.ordered_trie_root(receipts),
            lambda: _their_list_root(receipts),
        ),
    ]
