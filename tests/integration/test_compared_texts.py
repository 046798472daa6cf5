"""Error texts and members that client libraries compare: a change of one breaks their users without an error here.

Names of WebSocket notifications are compared by the real clients in tests/e2e/clients.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from foreseal.testing import Chain, ChainSettings

ETHERS, VIEM, HELPERS = "ethers 6.17.0", "viem 2.57.1", "@nomicfoundation/hardhat-network-helpers 3.0.11"
GWEI = 10**9
REVERTING = "0x" + "77" * 20


@dataclass(frozen=True)
class Comparison:
    """A pattern that a library searches in the message of an error, and a request that has this error."""

    library: str
    pattern: str
    request: Callable[[Chain], dict[str, Any]]


def send(chain: Chain, **fields: Any) -> dict[str, Any]:
    """Send a transfer of the first account and return the response."""
    transfer = {
        "to": chain.accounts[1].address,
        "value": 1,
        "nonce": 0,
        "gas": 21_000,
        "maxFeePerGas": 10 * GWEI,
        "maxPriorityFeePerGas": GWEI,
        "chainId": chain.settings.chain_id,
    }
    signed = chain.accounts[0].signer().sign_transaction(transfer | fields)
    return chain.request("eth_sendRawTransaction", [signed.raw_transaction])


def used_nonce(chain: Chain) -> dict[str, Any]:
    send(chain)
    chain.mine()
    return send(chain, value=2)


def same_again(chain: Chain) -> dict[str, Any]:
    send(chain)
    return send(chain)


def low_replacement(chain: Chain) -> dict[str, Any]:
    send(chain)
    return send(chain, value=2)


def revert(chain: Chain) -> dict[str, Any]:
    chain.rpc("anvil_setCode", REVERTING, "0x5f5ffd")
    chain.mine()
    return chain.request("eth_call", [{"to": REVERTING}, "latest"])


COMPARISONS = [
    Comparison(VIEM, r"nonce too low|transaction already imported|already known", used_nonce),
    Comparison(ETHERS, r"(?i)nonce.*too low", used_nonce),
    Comparison(VIEM, r"nonce too low|transaction already imported|already known", same_again),
    Comparison(ETHERS, r"(?i)replacement transaction.*underpriced", low_replacement),
    Comparison(VIEM, r"insufficient funds|exceeds transaction sender", lambda chain: send(chain, value=10**30)),
    Comparison(ETHERS, r"(?i)insufficient funds|base fee exceeds gas limit", lambda chain: send(chain, value=10**30)),
    Comparison(VIEM, r"intrinsic gas too low", lambda chain: send(chain, gas=20_999)),
    Comparison(VIEM, r"execution reverted|gas required exceeds allowance", revert),
    Comparison(ETHERS, r"(?i)revert", revert),
    Comparison(ETHERS, r"(?i)the method .* does not exist", lambda chain: chain.request("eth_unknown", [])),
]


@pytest.fixture
def chain() -> Iterator[Chain]:
    with Chain(ChainSettings(accounts=2, automine=False)) as chain:
        yield chain


@pytest.mark.parametrize("compared", COMPARISONS, ids=lambda compared: f"{compared.library}: {compared.pattern}")
def test_error_has_the_text_that_a_library_searches(chain: Chain, compared: Comparison) -> None:
    error = compared.request(chain)["error"]
    assert re.search(compared.pattern, error["message"]), error


def test_revert_has_the_code_and_data_that_libraries_require(chain: Chain) -> None:
    """viem compares the code, ethers requires data in hex."""
    error = revert(chain)["error"]
    assert (error["code"], error["data"]) == (3, "0x")


def test_client_version_begins_as_hardhat_network_helpers_require(chain: Chain) -> None:
    version = chain.rpc("web3_clientVersion").lower()
    assert version.startswith(("hardhat", "zksync", "anvil")), HELPERS
