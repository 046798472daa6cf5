"""API keys as text, as entries of a file, and in a running process."""

import errno
import hashlib
import os
import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from foreseal.rpc.rate import Rate
from foreseal.server.auth import keys
from foreseal.server.auth.checksum import add_checksum
from foreseal.server.auth.keys import ApiKey, KeyFileError, KeyStore

from access_doubles import NOW, KeyRing


def test_key_has_an_id_and_256_bits_and_stored_hash(tmp_path: Path) -> None:
    ring = KeyRing(tmp_path)
    text = ring.add("shop")
    assert re.fullmatch(r"fs_[0-9a-f]{10}_[0-9a-f]{64}", text)
    assert ring.add("shop") != text
    kept = ring.path.read_text()
    assert text not in kept
    assert text.rpartition("_")[2] not in kept
    assert hashlib.sha256(text.encode()).hexdigest() in kept


@given(st.text())
def test_invalid_key_has_no_id(text: str) -> None:
    assert keys.parse_key_id(text) is None


TIMES = st.integers(0, 253_402_300_799)
"""Up to the end of the year 9999, the last one of Python's calendar."""


@given(
    st.builds(
        ApiKey,
        id=st.binary(min_size=5, max_size=5).map(bytes.hex),
        name=st.text(max_size=20),
        hash=st.binary(min_size=32, max_size=32).map(bytes.hex),
        created=TIMES,
        tier=st.sampled_from(["public", "dedicated"]),
        rate=st.none() | st.builds(Rate, st.integers(1, 10**6), st.sampled_from([1, 60, 3600])),
        burst=st.none() | st.integers(1, 17_000),
        expires=st.none() | TIMES,
        revoked=st.none() | TIMES,
    )
)
def test_keys_round_trip_through_the_file(tmp_path_factory: pytest.TempPathFactory, key: ApiKey) -> None:
    path = tmp_path_factory.mktemp("keys") / keys.KEY_FILE
    path.write_bytes(keys.encode_keys({key.id: key}))
    assert keys.read_keys(path) == {key.id: key}


ENTRY = '{"id":"0000000000","name":"a","hash":"%s","created":1%s}'


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ('{"format":1}', "it must have a format and a list of keys"),
        ('{"format":2,"keyring":{}}', "it has format 2, newer than the supported format 1"),
        ('{"format":1,"keys":[7]}', "an entry is not an object"),
        ('{"format":1,"keys":[{"id":"a"}]}', "an entry lacks created, hash, name"),
        ('{"format":1,"keys":[%s]}' % (ENTRY % ("0" * 63, "")), "the hash of key '0000000000' must be SHA-256 in hex"),
        ('{"format":1,"keys":[%s]}' % (ENTRY % ("0" * 64, ',"tier":"x"')), "the tier or the burst"),
        ('{"format":1,"keys":[%s]}' % (ENTRY % ("0" * 64, ',"rate":"x"')), "'x' is not a rate"),
        (
            '{"format":1,"keys":[%s]}' % (ENTRY % ("0" * 64, ',"rate":"1/h","burst":30000')),
            "are too large a burst at 1/h",
        ),
        ('{"format":1,"keys":[%s]}' % (ENTRY % ("0" * 64, ',"expires":"x"')), "a field of a wrong type"),
        ('{"format":1,"keys":[%s]}' % (ENTRY % ("0" * 64, ',"created":null')), "a field of a wrong type"),
        ('{"format":1,"keys":[%s]}' % (ENTRY % ("0" * 64, ',"expires":253402300800')), "a timestamp out of range"),
        ('{"format":1,"keys":[%s]}' % (ENTRY % ("0" * 64, ',"revoked":-1')), "a timestamp out of range"),
        ('{"format":1,"keys":[%s]}' % (ENTRY % ("0" * 64, ',"more":1')), "unknown: ['more']"),
        ('{"format":1,"keys":[%s,%s]}' % (2 * (ENTRY % ("0" * 64, ""),)), "two have the same id"),
    ],
)
def test_broken_file_is_reported_with_its_error(tmp_path: Path, content: str, why: str) -> None:
    assert_rejected(tmp_path, add_checksum(content.removesuffix("}").encode() + b"\n}"), why)


@pytest.mark.parametrize("content", [b"", b"[]", b'{"format":1,"keys":[]}'])
def test_file_without_a_checksum_is_rejected(tmp_path: Path, content: bytes) -> None:
    assert_rejected(tmp_path, content, "the file is damaged: the checksum does not match")


@pytest.mark.parametrize("content", [b'{"version":1,"keys":[]}', add_checksum(b'{\n  "version": 2,\n  "keys": []\n}')])
def test_file_of_an_unreleased_version_is_rejected(tmp_path: Path, content: bytes) -> None:
    assert_rejected(
        tmp_path, content, "an unreleased version of Foreseal wrote the file: remove it, and issue new keys"
    )


def assert_rejected(folder: Path, content: bytes, why: str) -> None:
    """Assert that a key file with this content is rejected for this reason, and stays as it is."""
    path = folder / keys.KEY_FILE
    path.write_bytes(content)
    with pytest.raises(KeyFileError, match=re.escape(why)) as caught:
        keys.read_keys(path)
    assert str(path) in str(caught.value)
    assert path.read_bytes() == content


def test_key_is_found_by_its_text_until_it_expires(tmp_path: Path) -> None:
    now = float(NOW)
    ring = KeyRing(tmp_path)
    text = ring.add("shop", expires=NOW + 10)
    (key,) = ring.keys.values()
    store = KeyStore(ring.path, lambda: now)
    assert store.find(text) == key
    assert store.find(text.upper()) == store.find("") == store.find(text[:-1]) == "unknown API key"
    assert store.is_valid(key)
    now = NOW + 10.0
    assert store.find(text) == "the API key is expired"
    assert not store.is_valid(key)
    now = float(NOW)
    ring.keys[key.id] = replace(key, revoked=NOW)
    ring.save()
    assert store.is_valid(key), "nobody has looked"
    store.reload_if_changed()
    assert store.find(text) == "the API key is revoked"
    assert not store.is_valid(key)


def test_temporarily_unreadable_file_is_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    ring = KeyRing(tmp_path)
    text = ring.add("shop")
    store = KeyStore(ring.path, lambda: float(NOW))
    ring.keys.clear()
    ring.save()

    def refuse(_: Path) -> bytes:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    with monkeypatch.context() as full:
        full.setattr(Path, "read_bytes", refuse)
        for _ in range(3):
            store.reload_if_changed()
    assert isinstance(store.find(text), ApiKey), "the keys stay as they were"
    (told,) = [record for record in caplog.records if record.levelname == "ERROR"]
    assert "Too many open files" in vars(told)["reason"]
    store.reload_if_changed()
    assert store.find(text) == "unknown API key"
