"""A chain inside a Python process, for tests: no socket, no thread, no sleep, and a clock that the test controls.

Installing the package registers the pytest fixtures of `foreseal.testing.plugin`: `foreseal` is a chain that is rolled
back after each test, `foreseal_w3` a `web3.Web3` on it. Without pytest, use `Chain`.

Design: docs/design/decisions/development-chains.md.
"""

from foreseal.testing.accounts import TestAccount
from foreseal.testing.chain import Chain, ChainSettings

__all__ = ["Chain", "ChainSettings", "TestAccount"]
