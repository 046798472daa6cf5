"""Contracts on a test chain: calls, transactions of anybody, reverts and logs by name."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import orjson
import pytest
from eth_abi.abi import decode, encode
from eth_utils.abi import collapse_if_tuple

from foreseal.codec import keccak
from foreseal.errors import RpcError
from foreseal.testing import Chain

Abi = Sequence[dict[str, Any]]

_ERROR, _PANIC = keccak(b"Error(string)")[:4], keccak(b"Panic(uint256)")[:4]


class Reverted(Exception):
    """A call or transaction that reverted: `Error(string)` as its string, another error as `Name(argument, ...)`."""


@contextmanager
def refused(reason: str) -> Iterator[None]:
    """A context in which a call or transaction must revert for exactly this reason."""
    with pytest.raises(Reverted) as raised:
        yield
    assert str(raised.value) == reason


@dataclass(frozen=True)
class Log:
    """A log that a contract's ABI explains."""

    event: str
    values: tuple[Any, ...]
    """Its arguments in the order of the declaration."""
    address: str
    index: int
    """Its place in the block."""


@dataclass(frozen=True)
class Receipt:
    """What became of a transaction."""

    hash: str
    gas_used: int
    block: int
    address: str | None
    """Of the contract that it created."""
    raw_logs: list[dict[str, Any]]
    contract: "OnChain | None" = None

    @property
    def logs(self) -> list[Log]:
        """Its logs, explained by the ABI of the contract that it went to."""
        assert self.contract is not None
        return self.contract.explain(self.raw_logs)


def text_of(value: Any) -> Any:
    """A value as tests write it: bytes in hexadecimal, addresses in lower case as eth-abi has them."""
    if isinstance(value, bytes):
        return "0x" + value.hex()
    if isinstance(value, list | tuple):
        return tuple(text_of(part) for part in value)
    return value


def types_of(given: Sequence[dict[str, Any]]) -> list[str]:
    """The types of ABI parameters, structs as tuples."""
    return [collapse_if_tuple(parameter) for parameter in given]


def signature_of(entry: dict[str, Any]) -> str:
    """The canonical signature of an ABI entry."""
    return f"{entry['name']}({','.join(types_of(entry['inputs']))})"


class OnChain:
    """A contract at an address."""

    def __init__(self, chain: Chain, address: str, abi: Abi) -> None:
        self.chain, self.address, self.abi = chain, address.lower(), abi

    @cached_property
    def _functions(self) -> dict[str, dict[str, Any]]:
        """By canonical signature, and by name and number of arguments where that is enough."""
        found: dict[str, dict[str, Any]] = {}
        ambiguous = set()
        for entry in self.abi:
            if entry["type"] == "function":
                short = f"{entry['name']}/{len(entry['inputs'])}"
                if short in found:
                    ambiguous.add(short)
                found[signature_of(entry)] = found[short] = entry
        return {name: entry for name, entry in found.items() if name not in ambiguous}

    @cached_property
    def _events(self) -> dict[str, dict[str, Any]]:
        return {
            "0x" + keccak(signature_of(entry).encode()).hex(): entry for entry in self.abi if entry["type"] == "event"
        }

    @cached_property
    def _errors(self) -> dict[bytes, dict[str, Any]]:
        return {keccak(signature_of(entry).encode())[:4]: entry for entry in self.abi if entry["type"] == "error"}

    def function(self, name: str, arguments: Sequence[Any]) -> dict[str, Any]:
        """The ABI entry of a function, by signature or by name."""
        return self._functions[name if "(" in name else f"{name}/{len(arguments)}"]

    def data(self, name: str, *arguments: Any) -> bytes:
        """The data of a call."""
        entry = self.function(name, arguments)
        return keccak(signature_of(entry).encode())[:4] + encode(types_of(entry["inputs"]), arguments)

    def call(self, name: str, *arguments: Any, sender: str | None = None, block: str = "latest") -> Any:
        """What a function answers: one value by itself, several as a tuple. Raises `Reverted`."""
        request: dict[str, Any] = {"to": self.address, "data": self.data(name, *arguments)}
        if sender is not None:
            request["from"] = sender
        answer = bytes.fromhex(self._asked("eth_call", request, block).removeprefix("0x"))
        values = decode(types_of(self.function(name, arguments)["outputs"]), answer)
        return text_of(values[0]) if len(values) == 1 else text_of(values)

    def send(self, sender: str, name: str, *arguments: Any) -> Receipt:
        """Send a transaction and have it sealed. Raises `Reverted` of one that would revert, which is not sent."""
        return self.send_data(sender, self.data(name, *arguments))

    def send_data(self, sender: str, data: bytes) -> Receipt:
        """As `send`, with the data of the call."""
        sent = self._asked("eth_sendTransaction", {"from": sender, "to": self.address, "data": data})
        return receipt(self.chain, sent, self)

    def storage(self, slot: int) -> int:
        """The word at a slot."""
        return int(self.chain.rpc("eth_getStorageAt", self.address, hex(slot), "latest"), 16)

    def explain(self, logs: list[dict[str, Any]]) -> list[Log]:
        """Logs by the names of this contract's events; those that are unknown to it are left out."""
        return list(self._explained(logs))

    def _explained(self, logs: list[dict[str, Any]]) -> Iterator[Log]:
        for log in logs:
            entry = self._events.get(log["topics"][0])
            if entry is None:
                continue
            topics = iter(log["topics"][1:])
            plain = [given for given in entry["inputs"] if not given["indexed"]]
            data = iter(decode(types_of(plain), bytes.fromhex(log["data"].removeprefix("0x"))))
            values = [
                decode([given["type"]], bytes.fromhex(next(topics).removeprefix("0x")))[0]
                if given["indexed"]
                else next(data)
                for given in entry["inputs"]
            ]
            yield Log(entry["name"], text_of(values), log["address"], int(log["logIndex"], 16))

    def _asked(self, method: str, *params: Any) -> str:
        try:
            return str(self.chain.rpc(method, *params))
        except RpcError as error:
            raise Reverted(self.reason(error)) from error

    def reason(self, error: RpcError) -> str:
        """Why a call reverted, as `Reverted` says it; raises what is no revert again."""
        if error.data is None or not isinstance(given := orjson.loads(error.data), str):
            raise error
        data = bytes.fromhex(given.removeprefix("0x"))
        if data[:4] == _ERROR:
            return str(decode(["string"], data[4:])[0])
        if data[:4] == _PANIC:
            return f"Panic({decode(['uint256'], data[4:])[0]:#x})"
        if data[:4] in self._errors:
            entry = self._errors[data[:4]]
            values = text_of(decode(types_of(entry["inputs"]), data[4:]))
            return f"{entry['name']}({', '.join(str(value) for value in values)})"
        return given


def receipt(chain: Chain, transaction: str, contract: OnChain | None = None) -> Receipt:
    """The receipt of a sealed transaction, which must have succeeded."""
    found = chain.rpc("eth_getTransactionReceipt", transaction)
    assert found["status"] == "0x1", found
    return Receipt(
        hash=found["transactionHash"],
        gas_used=int(found["gasUsed"], 16),
        block=int(found["blockNumber"], 16),
        address=found["contractAddress"],
        raw_logs=found["logs"],
        contract=contract,
    )


def deploy(chain: Chain, sender: str, creation: bytes, abi: Abi) -> OnChain:
    """Create a contract by a plain transaction. Raises `Reverted`."""
    sent = OnChain(chain, "0x", abi)._asked("eth_sendTransaction", {"from": sender, "data": creation})
    created = receipt(chain, sent).address
    assert created is not None
    return OnChain(chain, created, abi)
