"""Contracts on a test chain: calls, transactions of any account, reverts and logs by name."""

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
    """Assert that a call or transaction in the context reverts for exactly this reason."""
    with pytest.raises(Reverted) as raised:
        yield
    assert str(raised.value) == reason


@dataclass(frozen=True)
class Log:
    """A log decoded by a contract's ABI."""

    event: str
    values: tuple[Any, ...]
    """Arguments in the order of the declaration."""
    address: str
    index: int
    """Position in the block."""


@dataclass(frozen=True)
class Receipt:
    """Outcome of a transaction."""

    hash: str
    gas_used: int
    block: int
    address: str | None
    """Address of the created contract."""
    raw_logs: list[dict[str, Any]]
    contract: "OnChain | None" = None

    @property
    def logs(self) -> list[Log]:
        """Logs decoded by the ABI of the called contract."""
        assert self.contract is not None
        return self.contract.explain(self.raw_logs)


def text_of(value: Any) -> Any:
    """Return a value in the notation of the tests: bytes in hexadecimal, addresses in lower case like eth-abi."""
    if isinstance(value, bytes):
        return "0x" + value.hex()
    if isinstance(value, list | tuple):
        return tuple(text_of(part) for part in value)
    return value


def types_of(given: Sequence[dict[str, Any]]) -> list[str]:
    """Return the types of ABI parameters, structs as tuples."""
    return [collapse_if_tuple(parameter) for parameter in given]


def signature_of(entry: dict[str, Any]) -> str:
    """Return the canonical signature of an ABI entry."""
    return f"{entry['name']}({','.join(types_of(entry['inputs']))})"


class OnChain:
    """A contract at an address."""

    def __init__(self, chain: Chain, address: str, abi: Abi) -> None:
        self.chain, self.address, self.abi = chain, address.lower(), abi

    @cached_property
    def _functions(self) -> dict[str, dict[str, Any]]:
        """Functions by canonical signature, and by name and number of arguments if that is unambiguous."""
        functions: dict[str, dict[str, Any]] = {}
        ambiguous = set()
        for entry in self.abi:
            if entry["type"] == "function":
                short = f"{entry['name']}/{len(entry['inputs'])}"
                if short in functions:
                    ambiguous.add(short)
                functions[signature_of(entry)] = functions[short] = entry
        return {name: entry for name, entry in functions.items() if name not in ambiguous}

    @cached_property
    def _events(self) -> dict[str, dict[str, Any]]:
        return {
            "0x" + keccak(signature_of(entry).encode()).hex(): entry for entry in self.abi if entry["type"] == "event"
        }

    @cached_property
    def _errors(self) -> dict[bytes, dict[str, Any]]:
        return {keccak(signature_of(entry).encode())[:4]: entry for entry in self.abi if entry["type"] == "error"}

    def function(self, name: str, arguments: Sequence[Any]) -> dict[str, Any]:
        """Return the ABI entry of a function, by signature or by name."""
        return self._functions[name if "(" in name else f"{name}/{len(arguments)}"]

    def data(self, name: str, *arguments: Any) -> bytes:
        """Return the data of a call."""
        entry = self.function(name, arguments)
        return keccak(signature_of(entry).encode())[:4] + encode(types_of(entry["inputs"]), arguments)

    def call(self, name: str, *arguments: Any, sender: str | None = None, block: str = "latest") -> Any:
        """Return the result of a function: a single value alone, several as a tuple. Raise `Reverted`."""
        request: dict[str, Any] = {"to": self.address, "data": self.data(name, *arguments)}
        if sender is not None:
            request["from"] = sender
        answer = bytes.fromhex(self._request("eth_call", request, block).removeprefix("0x"))
        values = decode(types_of(self.function(name, arguments)["outputs"]), answer)
        return text_of(values[0]) if len(values) == 1 else text_of(values)

    def send(self, sender: str, name: str, *arguments: Any) -> Receipt:
        """Send a transaction and seal it. Raise `Reverted` for one that would revert; it is not sent."""
        return self.send_data(sender, self.data(name, *arguments))

    def send_data(self, sender: str, data: bytes) -> Receipt:
        """Send a transaction with this call data, like `send`."""
        sent = self._request("eth_sendTransaction", {"from": sender, "to": self.address, "data": data})
        return receipt(self.chain, sent, self)

    def storage(self, slot: int) -> int:
        """Return the word at a slot."""
        return int(self.chain.rpc("eth_getStorageAt", self.address, hex(slot), "latest"), 16)

    def explain(self, logs: list[dict[str, Any]]) -> list[Log]:
        """Return the logs of this contract's events by name; other logs are omitted."""
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

    def _request(self, method: str, *params: Any) -> str:
        try:
            return str(self.chain.rpc(method, *params))
        except RpcError as error:
            raise Reverted(self.reason(error)) from error

    def reason(self, error: RpcError) -> str:
        """Return the revert reason of a call, as in `Reverted`; raise any other error again."""
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
    """Return the receipt of a sealed transaction, which must have succeeded."""
    fields = chain.rpc("eth_getTransactionReceipt", transaction)
    assert fields["status"] == "0x1", fields
    return Receipt(
        hash=fields["transactionHash"],
        gas_used=int(fields["gasUsed"], 16),
        block=int(fields["blockNumber"], 16),
        address=fields["contractAddress"],
        raw_logs=fields["logs"],
        contract=contract,
    )


def deploy(chain: Chain, sender: str, creation: bytes, abi: Abi) -> OnChain:
    """Create a contract by a plain transaction. Raise `Reverted`."""
    sent = OnChain(chain, "0x", abi)._request("eth_sendTransaction", {"from": sender, "data": creation})
    created = receipt(chain, sent).address
    assert created is not None
    return OnChain(chain, created, abi)
