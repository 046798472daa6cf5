"""Selectors, topics and type hashes: computed from the signatures, and in the compiled contracts."""

from pathlib import Path

import orjson
import pytest

from foreseal.codec import keccak
from foreseal.payments.contracts import load
from payments.contracts.onchain import OnChain, signature_of, types_of

_TRANSFER = "address,address,uint256,uint256,uint256,bytes32"
SELECTORS = {
    f"transferWithAuthorization({_TRANSFER},uint8,bytes32,bytes32)": "e3ee160e",
    f"transferWithAuthorization({_TRANSFER},bytes)": "cf092995",
    f"receiveWithAuthorization({_TRANSFER},uint8,bytes32,bytes32)": "ef55bec6",
    f"receiveWithAuthorization({_TRANSFER},bytes)": "88b7ab63",
    "cancelAuthorization(address,bytes32,uint8,bytes32,bytes32)": "5a049a70",
    "cancelAuthorization(address,bytes32,bytes)": "b7b72899",
    "authorizationState(address,bytes32)": "e94a0102",
    "permit(address,address,uint256,uint256,uint8,bytes32,bytes32)": "d505accf",
    "permit(address,address,uint256,uint256,bytes)": "9fd5a6cf",
    "transferWithMemo(address,uint256,bytes32)": "95777d59",
    "transferFromWithMemo(address,address,uint256,bytes32)": "929c2539",
    "nonces(address)": "7ecebe00",
    "DOMAIN_SEPARATOR()": "3644e515",
    "version()": "54fd4d50",
    "isBlacklisted(address)": "fe575a87",
    "paused()": "5c975abb",
}
TOPICS = {
    "Transfer(address,address,uint256)": "ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef",
    "Approval(address,address,uint256)": "8c5be1e5ebec7d5bd14f71427d1e84f3dd0314c0f7b2291e5b200ac8c7c3b925",
    "Memo(address,bytes32)": "6989f5818dcfd11f8cd53b27c94cec33dae1589735f03e639cba54553a1825e8",
    "AuthorizationUsed(address,bytes32)": "98de503528ee59b575ef0c0a2576a82497bfc029a5685b209e9ec333479b10a5",
    "AuthorizationCanceled(address,bytes32)": "1cdd46ff242716cdaa72d159d339a485b3438398348d68f09d7c8c0a59353d81",
}
_FIELDS = "address from,address to,uint256 value,uint256 validAfter,uint256 validBefore,bytes32 nonce"
TYPEHASHES = {
    "TRANSFER_WITH_AUTHORIZATION_TYPEHASH": (
        f"TransferWithAuthorization({_FIELDS})",
        "7c7c6cdb67a18743f49ec6fa9b35f50d52ed05cbed4cc592e13b44501c1a2267",
    ),
    "RECEIVE_WITH_AUTHORIZATION_TYPEHASH": (
        f"ReceiveWithAuthorization({_FIELDS})",
        "d099cc98ef71107a616c4f0f941f04c322d8e254fe26b3c6668db87aae413de8",
    ),
    "CANCEL_AUTHORIZATION_TYPEHASH": (
        "CancelAuthorization(address authorizer,bytes32 nonce)",
        "158b0a9edf7a828aad02f63cd515c68ef2f50ba807396f6d12842833a1597429",
    ),
    "PERMIT_TYPEHASH": (
        "Permit(address owner,address spender,uint256 value,uint256 nonce,uint256 deadline)",
        "6e71edae12b1b97f4d1f60370fef10105fa2faae0126114a169c64845d6126c9",
    ),
}
# FiatTokenV2_2's own functions, in addition to the ones above.
FIAT_TOKEN = """
    initialize(string,string,string,uint8,address,address,address,address) initializeV2(string) initializeV2_1(address)
    initializeV2_2(address[],string) owner() transferOwnership(address) pauser() updatePauser(address) pause() unpause()
    blacklister() updateBlacklister(address) blacklist(address) unBlacklist(address) masterMinter()
    updateMasterMinter(address) configureMinter(address,uint256) removeMinter(address) isMinter(address)
    minterAllowance(address) mint(address,uint256) burn(uint256) rescuer() updateRescuer(address)
    rescueERC20(address,address,uint256) name() symbol() currency() decimals() totalSupply() balanceOf(address)
    allowance(address,address) approve(address,uint256) increaseAllowance(address,uint256)
    decreaseAllowance(address,uint256) transfer(address,uint256) transferFrom(address,address,uint256)
""".split()


def signatures(contract: str, kind: str) -> set[str]:
    """Return the canonical signatures of a contract's entries of one kind."""
    return {signature_of(entry) for entry in load(contract).abi if entry["type"] == kind}


@pytest.mark.parametrize("signature", SELECTORS)
def test_a_selector_is_the_hash_of_its_signature(signature: str) -> None:
    assert keccak(signature.encode())[:4].hex() == SELECTORS[signature]


@pytest.mark.parametrize("signature", TOPICS)
def test_a_topic_is_the_hash_of_its_signature(signature: str) -> None:
    assert keccak(signature.encode()).hex() == TOPICS[signature]


def test_token_has_documented_and_fiat_token_functions() -> None:
    assert signatures("PaymentToken", "function") >= {*SELECTORS, *FIAT_TOKEN, *(f"{name}()" for name in TYPEHASHES)}
    assert signatures("PaymentToken", "event") >= set(TOPICS)
    assert "PolicyForbids(bytes32,uint64)" in signatures("PaymentToken", "error")


def test_indexed_event_fields_serve_filters() -> None:
    indexed = {
        entry["name"]: [given["indexed"] for given in entry["inputs"]]
        for entry in load("PaymentToken").abi
        if entry["type"] == "event"
    }
    assert indexed["Transfer"] == indexed["Approval"] == [True, True, False]
    assert indexed["Memo"] == indexed["AuthorizationUsed"] == indexed["AuthorizationCanceled"] == [True, True]


@pytest.mark.parametrize("name", TYPEHASHES)
def test_a_typehash_is_the_hash_of_its_type_and_public(token: OnChain, name: str) -> None:
    type_, expected = TYPEHASHES[name]
    assert keccak(type_.encode()).hex() == expected
    assert token.call(name) == "0x" + expected


X402 = orjson.loads((Path(__file__).parent / "x402_interfaces.json").read_bytes())


def described(entry: dict) -> str:
    """Return an ABI entry in the format of x402_interfaces.json."""
    signature = signature_of(entry)
    if entry["type"] == "event":
        return f"event {signature} {''.join('x' if given['indexed'] else '-' for given in entry['inputs'])}"
    if entry["type"] == "error":
        return f"error {signature}"
    return f"function {signature} -> ({','.join(types_of(entry['outputs']))})"


@pytest.mark.parametrize("contract", X402)
def test_functions_called_by_x402_packages_exist(contract: str) -> None:
    """The functions, events and errors in the ABIs of x402 2.25 (PyPI) and @x402/evm 2.27 (npm)."""
    named = [entry for entry in load(contract).abi if entry["type"] in ("function", "event", "error")]
    assert set(X402[contract]) <= {described(entry) for entry in named}
    assert X402[contract]
