"""Licences, versions and sources of the Rust dependencies follow `deny.toml`."""

import json
import re
import shutil
import subprocess
import tomllib
from collections import defaultdict
from typing import Any

import pytest

from repository import ROOT

RULES = tomllib.loads((ROOT / "deny.toml").read_text())
REGISTRY = "registry+https://github.com/rust-lang/crates.io-index"
IDENTIFIER = re.compile(r"[\w.+-]+(?: WITH [\w.-]+)?")


@pytest.fixture(scope="module")
def packages() -> list[dict[str, Any]]:
    """Return the packages that a build for the rules' target uses."""
    if shutil.which("cargo") is None:
        pytest.skip("cargo is not on the PATH")
    command = [
        "cargo",
        "metadata",
        "--format-version",
        "1",
        "--locked",
        "--filter-platform",
        *RULES["graph"]["targets"],
    ]
    output = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    metadata = json.loads(output)
    used = {node["id"] for node in metadata["resolve"]["nodes"]}
    return [package for package in metadata["packages"] if package["id"] in used]


def is_allowed(licence: str, allowed: set[str]) -> bool:
    """Evaluate an SPDX expression, or the older form with slashes, for a set of accepted licences."""

    def value(match: re.Match[str]) -> str:
        word = match[0]
        return word.lower() if word in ("AND", "OR") else str(word.removesuffix("+") in allowed)

    return bool(eval(IDENTIFIER.sub(value, licence.replace("/", " OR ")), {"__builtins__": {}}))


def test_licences_are_accepted(packages: list[dict[str, Any]]) -> None:
    allowed = set(RULES["licenses"]["allow"])
    foreign = [package for package in packages if package["source"]]
    assert len(foreign) > 200
    assert not [
        f"{package['name']} {package['version']}: {package['license']}"
        for package in foreign
        if not is_allowed(package["license"] or "none", allowed)
    ]


def test_only_listed_packages_have_several_versions(packages: list[dict[str, Any]]) -> None:
    versions: dict[str, set[str]] = defaultdict(set)
    for package in packages:
        versions[package["name"]].add(package["version"])
    listed = {tuple(rule["crate"].split("@")) for rule in RULES["bans"]["skip"]}
    several = {(name, version) for name, locked in versions.items() if len(locked) > 1 for version in locked}
    assert not [name for name, locked in versions.items() if len({(name, each) for each in locked} - listed) > 1]
    assert not listed - several, "these have one version now: remove them from deny.toml"


def test_packages_come_from_the_registry(packages: list[dict[str, Any]]) -> None:
    assert {package["source"] for package in packages} == {None, REGISTRY}


@pytest.mark.parametrize(
    ("licence", "expected"),
    [
        ("MIT OR GPL-3.0-only", True),
        ("MIT AND GPL-3.0-only", False),
        ("Unlicense/MIT", True),
        ("(GPL-2.0-only OR ISC) AND MIT", True),
        ("Apache-2.0 WITH LLVM-exception", False),
        ("none", False),
    ],
)
def test_expressions_are_evaluated(licence: str, expected: bool) -> None:
    assert is_allowed(licence, {"MIT", "ISC", "Apache-2.0"}) is expected
