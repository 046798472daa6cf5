"""A working copy of Circle's suite, and runs of its tests by hardhat."""

import os
import shutil
import subprocess
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
import pytest

from foreseal.payments.contracts import TokenSetup, load

VARIABLE = "CIRCLE_SUITE"
"""Environment variable with a checkout of the suite and its installed packages."""
TOKEN_TESTS = "test/v2/FiatTokenV2_2.test.ts"
"""Tests of the newest token of the suite."""
TESTS_OF_ALL_VERSIONS = ("test/v1/", "test/minting/")
"""Folders of tests that run for each version of the token."""
_PATTERNS = ("v1/*.test.*", "v1.1/*.test.*", "v2/**/*.test.ts", "util/*.ts", "minting/*Tests.js", "misc/*.test.ts")
_CONFIGURATION = Path(__file__).with_name("hardhat.config.ts")
_TOKEN = "artifacts/hardhat/contracts/v2/FiatTokenV2_2.sol/FiatTokenV2_2.json"
_NOT_COPIED = shutil.ignore_patterns("node_modules", ".git", "artifacts", "cache", "lib")
_ZERO = "0x" + "00" * 20


@dataclass(frozen=True, slots=True)
class SuiteRun:
    """Results of one run by full title; several tests of the suite share a title."""

    passed: Counter[str]
    failed: dict[str, str]
    """Errors by title."""


def checkout() -> Path:
    """Return the checkout of the suite; skip the calling test without it, its packages or Node.js."""
    given = os.environ.get(VARIABLE)
    if not given:
        pytest.skip(f"set {VARIABLE} to a checkout of github.com/circlefin/stablecoin-evm")
    folder = Path(given)
    if not (folder / TOKEN_TESTS).exists():
        pytest.skip(f"{VARIABLE}: {folder} has no {TOKEN_TESTS}")
    if not (folder / "node_modules" / "hardhat").exists():
        pytest.skip(f"{folder} has no packages: run `yarn install --frozen-lockfile --ignore-scripts` in it")
    if shutil.which("node") is None:
        pytest.skip("Node.js is not installed")
    return folder


class CircleSuite:
    """A compiled working copy. The checkout is not modified."""

    def __init__(self, folder: Path) -> None:
        """Copy the checkout to a new folder, and compile its contracts."""
        source = checkout()
        self.folder = folder
        shutil.copytree(source, folder, ignore=_NOT_COPIED)
        (folder / "node_modules").symlink_to((source / "node_modules").resolve())
        shutil.copyfile(_CONFIGURATION, folder / _CONFIGURATION.name)
        compiled = self._hardhat("compile")
        assert compiled.returncode == 0, compiled.stdout + compiled.stderr

    def files(self) -> list[str]:
        """Return all files of tests, except those of the suite's scripts."""
        paths = {path for pattern in _PATTERNS for path in (self.folder / "test").glob(pattern)}
        return sorted(str(path.relative_to(self.folder)) for path in paths)

    def run(self, files: list[str], node: str | None, titles: str = "") -> SuiteRun:
        """Run tests on a node by its URL; without one, on the chain in hardhat's own process.

        `titles` is a regular expression for full titles.
        """
        report = self.folder / "report.json"
        report.unlink(missing_ok=True)
        network = "hardhat" if node is None else "node"
        variables = {"CIRCLE_REPORT": str(report)} | ({} if node is None else {"CIRCLE_NODE": node})
        ended = self._hardhat("--network", network, "test", "--no-compile", "--grep", titles, *files, **variables)
        assert report.exists(), ended.stdout + ended.stderr
        results: dict[str, Any] = orjson.loads(report.read_bytes())
        failed = {test["fullTitle"]: test["err"].get("message", "") for test in results["failures"]}
        assert len(results["failures"]) == results["stats"]["failures"]
        return SuiteRun(Counter(test["fullTitle"] for test in results["passes"]), failed)

    def replace_token(self) -> None:
        """Replace the compiled FiatTokenV2_2 by this project's token, created without a setup."""
        path, token = self.folder / _TOKEN, load("PaymentToken")
        creation = TokenSetup(_ZERO, _ZERO, _ZERO, _ZERO, name="", symbol="", currency="", decimals=0).creation()
        artifact: dict[str, Any] = orjson.loads(path.read_bytes())
        artifact |= {
            "abi": [entry for entry in token.abi if entry["type"] != "constructor"],
            "bytecode": "0x" + creation.hex(),
            "deployedBytecode": "0x" + token.runtime.hex(),
            "linkReferences": {},
            "deployedLinkReferences": {},
        }
        path.write_bytes(orjson.dumps(artifact))

    def _hardhat(self, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
        command = ["node_modules/.bin/hardhat", "--config", _CONFIGURATION.name, *arguments]
        environment = {**os.environ, "HARDHAT_DISABLE_TELEMETRY_PROMPT": "true", **variables}
        return subprocess.run(
            command,
            cwd=self.folder,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            stdin=subprocess.DEVNULL,
        )
