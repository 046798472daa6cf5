"""Versions of etcd are parsed, and the oldest accepted one is the same in the core and the docs."""

import re

import pytest

from foreseal.etcd_version import OLDEST_ETCD, format_version, parse_version, recommended_flags
from repository import DOCS, ROOT

_CONSTANT = ROOT / "rust_core/quorum/src/quorum_report.rs"
_OLDEST = re.compile(r"etcd\s+(\d+\.\d+\.\d+)\s+or\s+newer|older\s+than\s+(\d+\.\d+\.\d+)")


def test_flags_have_the_spelling_of_the_version() -> None:
    assert not any("catchup" in flag for flag in recommended_flags((3, 4, 23)))
    assert "--experimental-snapshot-catchup-entries=200" in recommended_flags((3, 5, 14))
    assert "--snapshot-catchup-entries=200" in recommended_flags((3, 7, 3))
    assert recommended_flags(None) == recommended_flags((3, 7, 3))


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("3.5.14", (3, 5, 14)),
        ("3.6.0-rc.1", (3, 6, 0)),
        ("3.5", None),
        ("", None),
        ("3.5.14.1", None),
        ("v3.5.1", None),
        ("٣.5.1", None),
    ],
)
def test_version_is_parsed(text: str, version: tuple[int, int, int] | None) -> None:
    assert parse_version(text) == version
    if version is not None:
        assert text.startswith(format_version(version))


def test_core_has_the_same_oldest_version() -> None:
    (numbers,) = re.findall(r"MIN_ETCD_VERSION: \[u64; 3\] = \[([^]]+)\]", _CONSTANT.read_text())
    assert tuple(map(int, numbers.split(","))) == OLDEST_ETCD


def test_docs_name_the_oldest_version() -> None:
    pages = [*DOCS.rglob("*.md"), ROOT / "CHANGELOG.md"]
    versions = [
        version for page in pages for match in _OLDEST.findall(page.read_text()) for version in match if version
    ]
    assert len(versions) >= 4
    assert set(versions) == {format_version(OLDEST_ETCD)}
