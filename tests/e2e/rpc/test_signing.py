"""Signatures and transactions of a development node for its accounts, against eth-account."""

import json
import random
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from eth_account import Account
from eth_account.messages import encode_defunct, encode_typed_data
from eth_utils import to_checksum_address

from live import DEV_ACCOUNTS, LiveNode, Rpc, RpcFailure, wait_for

SIGNER = DEV_ACCOUNTS[3]
OTHER = "0x" + "77" * 20
SEED = 20261121
MESSAGES = 150

PERMIT = {
    "types": {
        "EIP712Domain": [
            {"name": "name", "type": "string"},
            {"name": "version", "type": "string"},
            {"name": "chainId", "type": "uint256"},
            {"name": "verifyingContract", "type": "address"},
        ],
        "TransferWithAuthorization": [
            {"name": "from", "type": "address"},
            {"name": "to", "type": "address"},
            {"name": "value", "type": "uint256"},
            {"name": "validAfter", "type": "uint256"},
            {"name": "validBefore", "type": "uint256"},
            {"name": "nonce", "type": "bytes32"},
        ],
    },
    "primaryType": "TransferWithAuthorization",
    "domain": {"name": "USD Coin", "version": "2", "chainId": 31337, "verifyingContract": "0x" + "11" * 20},
    "message": {
        "from": SIGNER.address,
        "to": OTHER,
        "value": 10**24,
        "validAfter": 0,
        "validBefore": 2**64,
        "nonce": "0x" + "ab" * 32,
    },
}


def as_sent(value: Any) -> Any:
    """Return the value with integers beyond 64 bits as text: as JSON numbers they would lose digits."""
    if isinstance(value, dict):
        return {name: as_sent(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [as_sent(inner) for inner in value]
    return str(value) if isinstance(value, int) and not -(2**63) <= value < 2**64 else value


def signature(signed: Any) -> str:
    return "0x" + bytes(signed.signature).hex()


def test_accounts_are_the_printed_ones_in_order(rpc: Rpc) -> None:
    assert [to_checksum_address(address) for address in rpc("eth_accounts")] == [one.address for one in DEV_ACCOUNTS]


@pytest.mark.parametrize("data", [b"", b"Hello", bytes(range(256)), "grüße".encode()])
def test_messages_are_signed_as_eth_account_signs_them(rpc: Rpc, data: bytes) -> None:
    expected = signature(SIGNER.sign_message(encode_defunct(data)))
    assert rpc("eth_sign", SIGNER.address, "0x" + data.hex()) == expected
    assert rpc("personal_sign", "0x" + data.hex(), SIGNER.address.lower()) == expected
    assert rpc("personal_sign", "0x" + data.hex(), SIGNER.address, "") == expected


def test_a_token_authorization_is_signed_as_eth_account_signs_it(rpc: Rpc) -> None:
    expected = signature(SIGNER.sign_message(encode_typed_data(full_message=PERMIT)))
    assert rpc("eth_signTypedData_v4", SIGNER.address, as_sent(PERMIT)) == expected
    assert rpc("eth_signTypedData_v4", SIGNER.address, json.dumps(PERMIT)) == expected


class Draft:
    """Random typed data: structs of every atomic type, arrays of one and two dimensions, nested structs."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self.types: dict[str, list[dict[str, str]]] = {}
        for level in range(rng.randint(1, 4)):
            names = list(self.types)
            kinds = [self._kind(names) for _ in range(rng.randint(1, 5))]
            self.types[f"Type{level}"] = [{"name": f"field{n}", "type": kind} for n, kind in enumerate(kinds)]
        self.primary = list(self.types)[-1]
        used = self._used(self.primary)
        self.types = {name: members for name, members in self.types.items() if name in used}

    def _kind(self, names: list[str]) -> str:
        rng, sizes = self._rng, range(8, 257, 8)
        plain = [
            "bool",
            "address",
            "string",
            "bytes",
            f"uint{rng.choice(sizes)}",
            f"int{rng.choice(sizes)}",
            f"bytes{rng.randint(1, 32)}",
        ]
        return rng.choice(plain + names * 2) + rng.choice(["", "", "", "[]", "[2]", "[2][]"])

    def _used(self, name: str) -> set[str]:
        stems = {member["type"].partition("[")[0] for member in self.types[name]}
        return {name}.union(*(self._used(stem) for stem in stems if stem in self.types))

    def value(self, kind: str) -> Any:
        rng = self._rng
        if kind.endswith("]"):
            element, _, length = kind[:-1].rpartition("[")
            return [self.value(element) for _ in range(int(length) if length else rng.randint(0, 3))]
        if kind in self.types:
            return {member["name"]: self.value(member["type"]) for member in self.types[kind]}
        if kind == "bool":
            return rng.random() < 0.5
        if kind == "address":
            return to_checksum_address(rng.randbytes(20))
        if kind == "string":
            return "".join(rng.choice('aß\u20ac\U0001f600"\\\n') for _ in range(rng.randint(0, 8)))
        if kind.startswith("bytes"):
            return "0x" + rng.randbytes(int(kind[5:] or rng.randint(0, 40))).hex()
        bits = int(kind.lstrip("uint"))
        low, high = (0, 2**bits - 1) if kind.startswith("u") else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
        return rng.choice([low, high, 0, rng.randint(low, high)])

    def typed_data(self) -> dict[str, Any]:
        domain = {
            "name": "Shop",
            "version": "1",
            "chainId": 31337,
            "verifyingContract": OTHER,
            "salt": "0x" + "05" * 32,
        }
        kinds = {"name": "string", "version": "string", "chainId": "uint256"}
        kinds |= {"verifyingContract": "address", "salt": "bytes32"}
        kept = [name for name in domain if self._rng.random() < 0.7] or ["name"]
        declared = {"EIP712Domain": [{"name": name, "type": kinds[name]} for name in kept]}
        return {
            "types": declared | self.types,
            "primaryType": self.primary,
            "domain": {name: domain[name] for name in kept},
            "message": self.value(self.primary),
        }


def test_eip712_alias_signs_the_same(rpc: Rpc) -> None:
    sent = as_sent(PERMIT)
    assert rpc("eth_signTypedData", SIGNER.address, sent) == rpc("eth_signTypedData_v4", SIGNER.address, sent)


def test_random_typed_data_is_signed_as_eth_account_signs_it(rpc: Rpc) -> None:
    rng = random.Random(SEED)
    nested = 0
    for _ in range(MESSAGES):
        data = Draft(rng).typed_data()
        expected = signature(SIGNER.sign_message(encode_typed_data(full_message=data)))
        assert rpc("eth_signTypedData_v4", SIGNER.address, as_sent(data)) == expected, json.dumps(data)
        nested += len(data["types"]) > 3
    assert nested > MESSAGES // 5, "many of them had structs in structs"


def test_an_unknown_account_signs_nothing(rpc: Rpc) -> None:
    for method, params in [
        ("eth_sign", (OTHER, "0x")),
        ("personal_sign", ("0x", OTHER)),
        ("eth_signTypedData_v4", (OTHER, as_sent(PERMIT))),
        ("eth_sendTransaction", ({"from": OTHER, "to": OTHER},)),
    ]:
        with pytest.raises(RpcFailure, match="unknown account") as caught:
            rpc(method, *params)
        assert caught.value.code == -32000


def receipt(rpc: Rpc, tx_hash: str) -> Any:
    return wait_for(lambda: rpc("eth_getTransactionReceipt", tx_hash), 10, "receipt")


def test_sent_transaction_is_signed_by_its_account(rpc: Rpc) -> None:
    tx_hash = rpc("eth_sendTransaction", {"from": SIGNER.address, "to": OTHER, "value": "0x5"})
    assert receipt(rpc, tx_hash)["status"] == "0x1"
    raw = rpc("debug_getRawTransaction", tx_hash)
    assert Account.recover_transaction(raw) == SIGNER.address
    sent = rpc("eth_getTransactionByHash", tx_hash)
    assert (sent["type"], sent["gas"], sent["value"]) == ("0x2", "0x5208", "0x5")


def test_concurrent_transactions_get_distinct_nonces(node: LiveNode) -> None:
    """Concurrent connections never get the same nonce for two transactions."""
    account = DEV_ACCOUNTS[4].address
    calls = [("eth_sendTransaction", {"from": account, "to": OTHER, "gas": "0x5208"})] * 20
    connections = [Rpc(node.url) for _ in range(3)]
    with ThreadPoolExecutor() as pool:
        hashes = [tx_hash for batch in pool.map(lambda rpc: rpc.batch(*calls), connections) for tx_hash in batch]
    assert len(set(hashes)) == 60
    nonces = sorted(int(connections[0]("eth_getTransactionByHash", tx_hash)["nonce"], 16) for tx_hash in hashes)
    assert nonces == list(range(60))
    for rpc in connections:
        rpc.close()


def test_an_impersonated_account_sends(rpc: Rpc) -> None:
    rpc("anvil_setBalance", OTHER, hex(10**18))
    rpc("anvil_impersonateAccount", OTHER)
    tx_hash = rpc("eth_sendTransaction", {"from": OTHER, "to": SIGNER.address, "value": "0x1"})
    mined_receipt = receipt(rpc, tx_hash)
    assert (mined_receipt["from"], mined_receipt["status"]) == (OTHER, "0x1")
    rpc("anvil_stopImpersonatingAccount", OTHER)
    with pytest.raises(RpcFailure, match="unknown account"):
        rpc("eth_sendTransaction", {"from": OTHER, "to": SIGNER.address})
