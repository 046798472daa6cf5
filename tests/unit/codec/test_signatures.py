"""Signatures and checksums, compared with eth-keys and eth-utils."""

import pytest
from eth_keys import keys
from eth_utils.address import to_checksum_address
from hypothesis import given
from hypothesis import strategies as st

from foreseal.codec import checksum_address, keccak, recover_addresses, sign_digests

ORDER = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141
KEYS = st.integers(1, ORDER - 1).map(lambda number: number.to_bytes(32, "big"))
DIGESTS = st.binary(min_size=32, max_size=32)


@given(KEYS, st.lists(DIGESTS, max_size=5))
def test_own_signatures_recover_to_the_signer(key: bytes, digests: list[bytes]) -> None:
    expected = keys.PrivateKey(key).public_key.to_checksum_address()
    signed = sign_digests(key, digests)
    assert recover_addresses(digests, signed) == [expected] * len(digests)
    for digest, signature in zip(digests, signed, strict=True):
        vrs = (signature[64] - 27, int.from_bytes(signature[:32], "big"), int.from_bytes(signature[32:64], "big"))
        public_key = keys.Signature(vrs=vrs).recover_public_key_from_msg_hash(digest)
        assert public_key.to_checksum_address() == expected


@given(KEYS, DIGESTS)
def test_signatures_of_eth_keys_recover_to_the_same_address(key: bytes, digest: bytes) -> None:
    signature = keys.PrivateKey(key).sign_msg_hash(digest)
    encoded = signature.to_bytes()[:64] + bytes([signature.v + 27])
    assert recover_addresses([digest], [encoded]) == [keys.PrivateKey(key).public_key.to_checksum_address()]


@pytest.mark.parametrize("v", [0, 1, 2, 26, 29, 255])
def test_v_other_than_27_and_28_has_no_signer(v: int) -> None:
    signature = sign_digests(b"\x01" * 32, [keccak(b"")])[0]
    assert recover_addresses([keccak(b"")], [signature[:64] + bytes([v])]) == [None]


def test_s_in_the_upper_half_has_no_signer() -> None:
    signature = sign_digests(b"\x01" * 32, [keccak(b"")])[0]
    flipped = (ORDER - int.from_bytes(signature[32:64], "big")).to_bytes(32, "big")
    malleable = signature[:32] + flipped + bytes([55 - signature[64]])
    assert recover_addresses([keccak(b"")], [malleable]) == [None]


@pytest.mark.parametrize("signature", [b"", b"\x00" * 64, b"\x00" * 65, b"\xff" * 64 + b"\x1b", b"\x01" * 66])
def test_bytes_that_are_no_signature_have_no_signer(signature: bytes) -> None:
    assert recover_addresses([keccak(b"")], [signature]) == [None]


def test_lists_of_different_lengths_are_rejected() -> None:
    with pytest.raises(ValueError, match="signatures: 0 for 1 digests"):
        recover_addresses([keccak(b"")], [])


def test_an_invalid_key_is_rejected() -> None:
    with pytest.raises(ValueError, match="key"):
        sign_digests(b"\x00" * 32, [keccak(b"")])


@given(st.binary(min_size=20, max_size=20))
def test_checksums_equal_those_of_eth_utils(address: bytes) -> None:
    assert checksum_address(address) == to_checksum_address(address)


def test_an_address_of_another_length_is_rejected() -> None:
    with pytest.raises((TypeError, ValueError)):
        checksum_address(b"\x00" * 19)
