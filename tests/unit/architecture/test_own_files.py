"""The repository contains no code of others: libraries come through package managers."""

import re
import subprocess

import pytest

from repository import ROOT

FOREIGN_FOLDERS = {"vendor", "third_party", "node_modules"}
FOREIGN_ENDINGS = (
    ".c",
    ".h",
    ".cc",
    ".cpp",
    ".hpp",
    ".min.js",
    ".wasm",
    ".so",
    ".a",
    ".jar",
    ".whl",
    ".tgz",
    ".gz",
    ".zip",
)
OWN_C = "tests/support/clock_shim/clock_shim.c"
# The licences of the project, and this list.
NOTICES = ("LICENSE-MIT", "LICENSE-APACHE", "tests/unit/architecture/test_own_files.py")
NOTICE = re.compile(
    r"copyright (\(c\)|©|[12][0-9]{3})|permission is hereby granted|redistribution and use|all rights reserved"
    r"|SPDX-License-Identifier: (?!MIT\b)",
    re.IGNORECASE,
)


@pytest.fixture(scope="module")
def tracked() -> list[str]:
    """Return the paths of the repository."""
    if not (ROOT / ".git").exists():
        pytest.skip("this is not a clone of the repository")
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return [path for path in listed.split("\0") if path and (ROOT / path).is_file()]


def test_no_folder_or_file_is_of_a_library(tracked: list[str]) -> None:
    assert len(tracked) > 2000
    paths = [path for path in tracked if FOREIGN_FOLDERS & set(path.split("/")) or path.endswith(FOREIGN_ENDINGS)]
    assert paths == [OWN_C]


def test_no_file_has_a_notice_of_another_project(tracked: list[str]) -> None:
    paths = [
        path
        for path in tracked
        if path not in NOTICES and NOTICE.search((ROOT / path).read_bytes().decode(errors="replace"))
    ]
    assert not paths


@pytest.mark.parametrize(
    "text", ["Copyright (c) 2011 X", "SPDX-License-Identifier: GPL-3.0", "Redistribution and use in"]
)
def test_notices_are_recognized(text: str) -> None:
    assert NOTICE.search(text)
    assert not NOTICE.search("// SPDX-License-Identifier: MIT OR Apache-2.0\ncopyright of others")
