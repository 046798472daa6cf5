"""The checksum of a JSON file: every changed bit is found, with its offset."""

import orjson
import pytest

from foreseal.server.auth.checksum import ChecksumError, add_checksum, verify_checksum

TEXT = orjson.dumps({"format": 1, "keys": [{"name": "till"}, {"name": "app"}]}, option=orjson.OPT_INDENT_2)


def test_sealed_object_is_json_with_a_checksum_member() -> None:
    data = add_checksum(TEXT)
    checksum = orjson.loads(data).pop("checksum")
    assert len(checksum) == 64 + 1 + 8
    assert orjson.loads(data) == orjson.loads(TEXT) | {"checksum": checksum}
    verify_checksum(data)


@pytest.mark.parametrize("data", [b"", b"{}", TEXT, TEXT + b" " * 400])
def test_bytes_without_a_checksum_are_rejected(data: bytes) -> None:
    with pytest.raises(ChecksumError, match="the checksum does not match"):
        verify_checksum(data)


def test_every_changed_bit_is_found_with_its_offset() -> None:
    data = add_checksum(TEXT)
    for bit in range(len(data) * 8):
        changed = bytearray(data)
        changed[bit // 8] ^= 1 << bit % 8
        with pytest.raises(ChecksumError, match=rf"one bit is flipped at offset {bit // 8}\Z"):
            verify_checksum(bytes(changed))


def test_multiple_changed_bits_are_found() -> None:
    data = bytearray(add_checksum(TEXT))
    data[3] ^= 1
    data[30] ^= 4
    with pytest.raises(ChecksumError, match="the checksum does not match"):
        verify_checksum(bytes(data))
