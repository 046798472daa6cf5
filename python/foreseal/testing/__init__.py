"""A chain inside a Python process, for tests: no socket, no thread, no sleep, and a clock that the test owns.

With pytest the fixtures of `foreseal.testing.plugin` are there once the package is installed: `foreseal` is a chain
that is taken back after each test, `foreseal_w3` a `web3.Web3` on it. Without pytest, `Chain` is all there is to know.
"""

from foreseal.testing.accounts import TestAccount
from foreseal.testing.chain import Chain, ChainSettings

__all__ = ["Chain", "ChainSettings", "TestAccount"]
