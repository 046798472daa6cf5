"""Simulations are outside the product: no crate of it enables the feature, and the extension is built without it."""

import json
import re
import shutil
import subprocess

import pytest

from architecture.layers import CRATES
from repository import ROOT

FEATURE = "simulation"
# A line of `cargo tree`: a crate of the workspace and its features.
_CRATE = re.compile(r"foreseal-([\w-]+) \[([\w,-]*)\]")


@pytest.fixture(autouse=True)
def _cargo() -> None:
    if shutil.which("cargo") is None:
        pytest.skip("cargo is not on the PATH")


def built_features(package: str) -> dict[str, set[str]]:
    """Return the crates of the workspace that a build of a package contains, each with its features."""
    command = ["cargo", "tree", "--offline", "--locked", "--package", package, "--edges", "normal,build"]
    command += ["--prefix", "none", "--format", "{p} [{f}]"]
    output = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    features: dict[str, set[str]] = {}
    for line in output.splitlines():
        match = _CRATE.fullmatch(re.sub(r" v\S+| \(\S*\)", "", line))
        if match:
            features.setdefault(match[1], set()).update(filter(None, match[2].split(",")))
    return features


def test_extension_contains_no_simulation() -> None:
    crates = built_features("foreseal-py")
    assert set(crates) == set(CRATES), "the extension consists of the crates of the layers"
    assert not [name for name, features in crates.items() if FEATURE in features]


def test_simulation_enables_the_feature() -> None:
    crates = built_features("foreseal-simulation")
    assert {name for name, features in crates.items() if FEATURE in features} == {"node", "replication"}
    assert {"simulated-disk", "simulated-quorum"} <= set(crates)


def test_no_crate_of_the_product_enables_the_feature() -> None:
    command = ["cargo", "metadata", "--format-version", "1", "--no-deps", "--offline"]
    output = subprocess.run(command, cwd=ROOT, check=True, capture_output=True).stdout
    packages = {package["name"].removeprefix("foreseal-"): package for package in json.loads(output)["packages"]}
    product = {name: package for name, package in packages.items() if name in CRATES}
    assert len(product) == len(CRATES)
    assert {name for name, package in product.items() if FEATURE in package["features"]} == {"node", "replication"}
    assert not [name for name, package in product.items() if "default" in package["features"]]
    assert not [
        f"{name} -> {dependency['name']}"
        for name, package in product.items()
        for dependency in package["dependencies"]
        if dependency["kind"] != "dev" and FEATURE in dependency["features"]
    ]
