"""A compiled contract in the package: ABI, code, immutables and storage layout."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import orjson

_COMPILED = "compiled"
_WORD_SIZE = 32


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable in a contract's storage."""

    label: str
    slot: int
    offset: int
    """Bytes from the right end of the slot."""
    type: str
    size: int
    """Bytes that it occupies in its slot."""


@dataclass(frozen=True, slots=True)
class Artifact:
    """A contract that solc compiled."""

    contract: str
    source: str
    """Source file, relative to `sources/`."""
    compiler: Mapping[str, object]
    """Name, version and settings."""
    sources: Mapping[str, str]
    """SHA-256 of every source file that it includes, in hexadecimal."""
    abi: list[dict[str, Any]]
    bytecode: bytes
    """Creation code, without the constructor's arguments."""
    runtime: bytes
    """Runtime code, with zeros for the immutables."""
    immutables: Mapping[str, tuple[int, ...]]
    """Offsets of each immutable in the runtime code, in bytes from its start; each has 32 bytes."""
    storage: tuple[Variable, ...]

    def creation(self, *arguments: object) -> bytes:
        """Return the data of a transaction that creates the contract with these constructor arguments.

        Needs the package eth-abi. Raises its `EncodingError` for arguments of the wrong type.
        """
        from eth_abi.abi import encode
        from eth_utils.abi import collapse_if_tuple

        for entry in self.abi:
            if entry["type"] == "constructor":
                return self.bytecode + encode(
                    [collapse_if_tuple(parameter) for parameter in entry["inputs"]], arguments
                )
        if arguments:
            raise ValueError(f"{self.contract} has no constructor with arguments")
        return self.bytecode

    def code(self, **immutables: bytes) -> bytes:
        """Return the runtime code with the immutables set, each a 32-byte word.

        Raises ValueError unless all are given.
        """
        if immutables.keys() != self.immutables.keys():
            raise ValueError(f"{self.contract} has the immutables {sorted(self.immutables)}, not {sorted(immutables)}")
        code = bytearray(self.runtime)
        for name, value in immutables.items():
            if len(value) != _WORD_SIZE:
                raise ValueError(f"the immutable {name} must have {_WORD_SIZE} bytes, got {len(value)}")
            for start in self.immutables[name]:
                code[start : start + _WORD_SIZE] = value
        return bytes(code)

    def variable(self, label: str) -> Variable:
        """Return the storage location of a variable. Raises KeyError."""
        for variable in self.storage:
            if variable.label == label:
                return variable
        raise KeyError(f"{self.contract} stores no {label}")


@cache
def load(contract: str) -> Artifact:
    """Return the artifact of one of the package's contracts by name. Raises FileNotFoundError."""
    return parse(files(__package__).joinpath(_COMPILED, f"{contract}.json").read_bytes())


def parse(text: bytes) -> Artifact:
    """Parse an artifact file from the compile script."""
    document = orjson.loads(text)
    storage = [
        Variable(entry["label"], entry["slot"], entry["offset"], entry["type"], entry["bytes"])
        for entry in document["storage"]
    ]
    return Artifact(
        contract=document["contract"],
        source=document["source"],
        compiler=document["compiler"],
        sources=document["sources"],
        abi=document["abi"],
        bytecode=bytes.fromhex(document["bytecode"].removeprefix("0x")),
        runtime=bytes.fromhex(document["runtime"].removeprefix("0x")),
        immutables={name: tuple(offsets) for name, offsets in document["immutables"].items()},
        storage=tuple(storage),
    )
