"""Calls with a `gasPrice` keep their access list, blobs and authorizations."""

from typing import Any

import pytest

from foreseal.testing import Chain
from simulate_calls import ALICE, BOB, CODE, OTHER_CODE, bytes32, error, one, returns, simulate

PRICE = hex(10**10)
PRICES = [{"gasPrice": PRICE}, {"maxFeePerGas": PRICE, "maxPriorityFeePerGas": PRICE}]
ACCESS_LIST = [{"address": OTHER_CODE, "storageKeys": [bytes32(slot) for slot in range(10)]}]
ACCESS_LIST_GAS = 2400 + 10 * 1900
BLOB_HASH = "0x01" + "ab" * 31
# Returns the first blob hash.
OVERRIDES = {CODE: {"code": returns("5f49")}}


def gas_of_each_method(chain: Chain, call: dict[str, Any]) -> dict[str, int]:
    """Return the gas that each method reports for a call."""
    trace = {"tracer": "callTracer", "stateOverrides": OVERRIDES}
    return {
        "simulate": int(one(chain, call, stateOverrides=OVERRIDES)["gasUsed"], 16),
        "estimate": int(chain.rpc("eth_estimateGas", call, "latest", OVERRIDES), 16),
        "trace": int(chain.rpc("debug_traceCall", call, "latest", trace)["gasUsed"], 16),
    }


@pytest.mark.parametrize("price", PRICES)
def test_an_access_list_is_paid(chain: Chain, price: dict[str, str]) -> None:
    call = {"from": ALICE, "to": CODE, "gas": hex(500_000), **price}
    without = gas_of_each_method(chain, call)
    assert gas_of_each_method(chain, call | {"accessList": ACCESS_LIST}) == {
        method: gas + ACCESS_LIST_GAS for method, gas in without.items()
    }
    listed = chain.rpc("eth_createAccessList", {**call, "accessList": ACCESS_LIST}, "latest", OVERRIDES)
    assert listed["accessList"] == ACCESS_LIST
    assert int(listed["gasUsed"], 16) == without["trace"] + ACCESS_LIST_GAS


@pytest.mark.parametrize("price", PRICES)
def test_code_reads_the_blob_hashes(chain: Chain, price: dict[str, str]) -> None:
    blobs = {"blobVersionedHashes": [BLOB_HASH], "maxFeePerBlobGas": PRICE}
    call = {"from": ALICE, "to": CODE, "gas": hex(500_000), **price, **blobs}
    assert one(chain, call, stateOverrides=OVERRIDES)["returnData"] == BLOB_HASH
    assert chain.rpc("eth_call", call, "latest", OVERRIDES) == BLOB_HASH
    traced = chain.rpc("debug_traceCall", call, "latest", {"tracer": "callTracer", "stateOverrides": OVERRIDES})
    assert traced["output"] == BLOB_HASH


@pytest.mark.parametrize("price", PRICES)
def test_delegated_code_runs(chain: Chain, price: dict[str, str]) -> None:
    signer = chain.accounts[1].signer()
    nonce = int(chain.rpc("eth_getTransactionCount", BOB, "latest"), 16)
    signed = signer.sign_authorization({"chainId": 31337, "address": CODE, "nonce": nonce})
    authorization = {
        "chainId": hex(31337),
        "address": CODE,
        "nonce": hex(nonce),
        "yParity": hex(signed.y_parity),
        "r": hex(signed.r),
        "s": hex(signed.s),
    }
    # Returns its own address.
    overrides = {CODE: {"code": returns("30")}}
    call = {"from": ALICE, "to": BOB, "gas": hex(500_000), **price, "authorizationList": [authorization]}
    own = bytes32(int(BOB, 16))
    assert one(chain, call, stateOverrides=overrides)["returnData"] == own
    assert chain.rpc("eth_call", call, "latest", overrides) == own
    assert int(chain.rpc("eth_estimateGas", call, "latest", overrides), 16) > 46_000


def test_simulated_transactions_have_the_type_of_their_fields(chain: Chain) -> None:
    base = {"from": ALICE, "to": BOB, "gasPrice": PRICE}
    calls = [
        base,
        base | {"accessList": []},
        base | {"accessList": ACCESS_LIST},
        base | {"blobVersionedHashes": [BLOB_HASH], "maxFeePerBlobGas": PRICE},
    ]
    (block,) = simulate(chain, {"calls": calls}, returnFullTransactions=True)
    assert [transaction["type"] for transaction in block["transactions"]] == ["0x0", "0x0", "0x1", "0x3"]
    assert {transaction["gasPrice"] for transaction in block["transactions"]} == {PRICE}


def test_blobs_without_a_fee_are_free_unless_validated(chain: Chain) -> None:
    """The same holds for `eth_call`; a validated transaction needs a fee of at least the block's price."""
    call = {"from": ALICE, "to": CODE, "gas": hex(500_000), "maxFeePerGas": PRICE, "blobVersionedHashes": [BLOB_HASH]}
    assert one(chain, call, stateOverrides=OVERRIDES)["returnData"] == BLOB_HASH
    block = {"calls": [call], "stateOverrides": OVERRIDES}
    assert "max fee per blob gas" in error(chain, block, validation=True).message
