"""foreseal.codec's tries against PyPI trie."""

import random

import pytest
import rlp as peer_rlp
from hypothesis import given
from hypothesis import strategies as st
from trie import HexaryTrie

from foreseal.codec import (
    Trie,
    ordered_trie_root,
    ordered_trie_root_batch,
    rlp_encode,
    trie_root,
    verify_proof,
)

EMPTY_ROOT = bytes.fromhex("56e81f171bcc55a6ff8345e692c0f86e5b48e01b996cadc001622fb5e363b421")
# Few letters: keys that are prefixes of others, extensions, branches with a value, embedded nodes.
KEYS = st.lists(st.sampled_from([0x00, 0x01, 0x10, 0x11, 0xFF]), max_size=5).map(bytes)
EQUAL_KEYS = st.lists(st.sampled_from([0x00, 0x01, 0x10, 0xFF]), min_size=3, max_size=3).map(bytes)
VALUES = st.binary(min_size=1, max_size=40)
CONTENT = st.dictionaries(KEYS, VALUES, max_size=24)


def peer(content: dict[bytes, bytes]) -> HexaryTrie:
    trie = HexaryTrie({})
    for key, value in content.items():
        trie[key] = value
    return trie


@given(CONTENT)
def test_a_root_equals_the_peers(content: dict[bytes, bytes]) -> None:
    expected = peer(content).root_hash
    assert trie_root(content.items()) == expected
    assert trie_root(list(reversed(content.items()))) == expected
    assert Trie(content.items()).root() == expected


@given(st.lists(st.tuples(KEYS, st.one_of(st.just(b""), VALUES)), max_size=40), st.data())
def test_changes_one_by_one_equal_the_peers(changes: list[tuple[bytes, bytes]], data: st.DataObject) -> None:
    ours, theirs, content = Trie(), HexaryTrie({}), dict[bytes, bytes]()
    for key, value in changes:
        if value:
            ours[key] = theirs[key] = content[key] = value
        elif content.pop(key, None) is not None:
            del ours[key], theirs[key]
        else:
            ours[key] = b""
        if data.draw(st.booleans()):
            assert ours.root() == theirs.root_hash
    assert ours.root() == theirs.root_hash
    assert len(ours) == len(content)
    for key, _ in changes:
        assert ours.get(key) == content.get(key)
        assert (key in ours) == (key in content)


@given(CONTENT, KEYS)
def test_proofs_contain_the_values_of_the_trie(content: dict[bytes, bytes], absent: bytes) -> None:
    trie = Trie(content.items())
    for key in (*content, absent):
        assert verify_proof(trie.root(), key, trie.prove(key)) == content.get(key)


# Keys of equal length, as in the protocol: the peer fails on an absent key that ends inside an extension.
@given(st.dictionaries(EQUAL_KEYS, VALUES, min_size=1, max_size=24), EQUAL_KEYS)
def test_proofs_satisfy_the_peer(content: dict[bytes, bytes], absent: bytes) -> None:
    trie = Trie(content.items())
    for key in (*content, absent):
        nodes = [peer_rlp.decode(node) for node in trie.prove(key)]
        assert HexaryTrie.get_from_proof(trie.root(), key, nodes) == content.get(key, b"")


@pytest.mark.parametrize("length", [0, 1, 2, 127, 128, 129, 255, 256, 257, 1000])
def test_list_root_is_correct_where_key_lengths_change(length: int) -> None:
    generator = random.Random(length)
    items = [generator.randbytes(generator.randrange(1, 200)) for _ in range(length)]
    expected = peer({peer_rlp.encode(index): item for index, item in enumerate(items)}).root_hash
    assert ordered_trie_root(items) == expected
    assert ordered_trie_root_batch([items, [], items]) == [expected, EMPTY_ROOT, expected]
    assert trie_root((rlp_encode(index), item) for index, item in enumerate(items)) == expected


def test_empty_trie_has_the_published_root() -> None:
    assert trie_root([]) == ordered_trie_root([]) == Trie().root() == EMPTY_ROOT
    assert Trie().prove(b"key") == []
    assert verify_proof(EMPTY_ROOT, b"key", []) is None
    assert len(Trie()) == 0


def test_many_changes_at_once_equal_the_peer() -> None:
    generator = random.Random(3)
    content = {generator.randbytes(32): generator.randbytes(70) for _ in range(2000)}
    trie = Trie()
    trie.update(content.items())
    assert trie.root() == peer(content).root_hash
    deleted_keys = list(content)[:1990]
    trie.update((key, b"") for key in deleted_keys)
    assert trie.root() == trie_root(list(content.items())[1990:])
    assert len(trie) == 10


def test_trie_has_the_interface_of_a_dict() -> None:
    trie = Trie([(b"dog", b"puppy"), (b"dog", b"hound")])
    assert trie[b"dog"] == b"hound"
    assert trie.get(b"cat") is None
    with pytest.raises(KeyError) as error:
        trie[b"cat"]
    assert error.value.args == (b"cat",)
    with pytest.raises(KeyError):
        del trie[b"cat"]
    trie[bytearray(b"cat")] = bytearray(b"kitten")
    trie[b"dog"] = b""
    assert (b"dog" in trie, b"cat" in trie, len(trie)) == (False, True, 1)


def test_copy_is_independent_of_the_original() -> None:
    first = Trie([(b"dog", b"puppy")])
    root = first.root()
    second = first.copy()
    second[b"cat"] = b"kitten"
    first_again = Trie([(b"dog", b"puppy")])
    assert first.root() == first_again.root() == root != second.root()


def test_key_over_255_bytes_is_rejected() -> None:
    longest, too_long = bytes(255), bytes(256)
    trie = Trie([(longest, b"1")])
    with pytest.raises(ValueError, match=r"^key: .*256 bytes.*255$"):
        trie[too_long] = b"1"
    with pytest.raises(ValueError, match=r"^pairs\[1\]: .*256 bytes.*255$"):
        trie.update([(b"a", b"1"), (too_long, b"1")])
    with pytest.raises(ValueError, match=r"^pairs: .*256 bytes.*255$"):
        trie_root([(too_long, b"1")])
    assert trie.get(too_long) is None
    assert b"a" not in trie


@pytest.mark.parametrize(
    ("root", "proof", "reason"),
    [
        (b"\0" * 31, [], "root: a hash has 32 bytes, got 31"),
        (b"\0" * 32, [], "proof: it ends before the key is decided"),
        (b"\0" * 32, [b"\xc0"], "proof: node 0 does not have the hash that leads to it"),
    ],
)
def test_incomplete_proof_is_an_error(root: bytes, proof: list[bytes], reason: str) -> None:
    with pytest.raises(ValueError, match=f"^{reason}$"):
        verify_proof(root, b"key", proof)


@pytest.mark.parametrize("wrong", [None, 1, [1], [(b"a",)], [(b"a", "b")], {b"a": b"b"}])
def test_invalid_trie_arguments_are_rejected(wrong: object) -> None:
    with pytest.raises((TypeError, ValueError)) as error:
        trie_root(wrong)  # type: ignore[arg-type]
    assert any("pairs" in note for note in error.value.__notes__)
