"""Accounts of a genesis, from the files of other programs."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

_ADDRESS = re.compile(r"(0x)?[0-9a-fA-F]{40}")
_QUANTITY = re.compile(r"0x[0-9a-fA-F]+|[0-9]+")
_DATA = re.compile(r"0x([0-9a-fA-F]{2})*")
_BYTES32 = re.compile(r"0x[0-9a-fA-F]{1,64}")
_HEADER_FIELDS = ("baseFeePerGas", "coinbase", "difficulty", "extraData", "gasLimit", "mixHash", "nonce", "timestamp")


class GenesisAllocError(ValueError):
    """A file does not contain the accounts of a genesis."""


@dataclass(frozen=True, slots=True)
class GenesisAlloc:
    """The accounts of a genesis in geth's format."""

    accounts: Mapping[str, Mapping[str, Any]]
    """Accounts by address, 0x hex in lower case."""
    header: Mapping[str, Any]
    """Header fields of the file, if it is a genesis."""


def read_genesis_alloc(path: Path) -> GenesisAlloc:
    """Return the accounts in a file. Raise `GenesisAllocError`, which names the account, or `OSError`.

    The file is a genesis in geth's format, or a map of addresses to accounts, such as the state dumps of op-deployer
    and forge.
    """
    try:
        document = orjson.loads(path.read_bytes())
    except orjson.JSONDecodeError as error:
        raise GenesisAllocError(f"not JSON: {error}") from None
    if not isinstance(document, dict):
        raise GenesisAllocError("must be a genesis with alloc, or an object of addresses and accounts")
    entries = document.get("alloc", document)
    if not isinstance(entries, dict) or not entries:
        raise GenesisAllocError("must contain the accounts of the predeploys")
    accounts: dict[str, Mapping[str, Any]] = {}
    for name, entry in entries.items():
        if not _ADDRESS.fullmatch(name):
            raise GenesisAllocError(f"{name[:80]!r} is not an address")
        address = "0x" + name.removeprefix("0x").lower()
        if address in accounts:
            raise GenesisAllocError(f"{address} occurs twice")
        accounts[address] = _account(address, entry)
    header = {name: document[name] for name in _HEADER_FIELDS if "alloc" in document and name in document}
    return GenesisAlloc(accounts, header)


def _account(address: str, entry: Any) -> dict[str, Any]:
    """Return an account without its empty fields."""
    if not isinstance(entry, dict):
        raise GenesisAllocError(f"{address} must be an object")
    account: dict[str, Any] = {"balance": "0x0"}
    for name, value in entry.items():
        read = _FIELDS.get(name)
        parsed = None if read is None else read(value)
        if parsed is None:
            known = ", ".join(_FIELDS)
            reason = f"must be one of {known}" if read is None else "is malformed or too large"
            raise GenesisAllocError(f"{address}: {name[:80]} {reason}")
        if name == "balance" or parsed not in ("0x0", "0x", {}):
            account[name] = parsed
    return account


def _quantity(value: Any, bits: int) -> str | None:
    """Return a number in hex; None if it is malformed or too large. Forge writes hex, geth numbers as well."""
    if isinstance(value, str) and _QUANTITY.fullmatch(value):
        # A decimal number of these many digits is too large as well.
        value = int(value, 0 if value.startswith("0x") else 10) if len(value) <= bits else None
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 1 << bits:
        return None
    return hex(value)


def _data(value: Any) -> str | None:
    return value if isinstance(value, str) and _DATA.fullmatch(value) else None


def _storage(value: Any) -> dict[str, str] | None:
    if not isinstance(value, dict):
        return None
    slots: dict[str, str] = {}
    for key, content in value.items():
        if not (_BYTES32.fullmatch(key) and isinstance(content, str) and _BYTES32.fullmatch(content)):
            return None
        slots["0x" + key[2:].rjust(64, "0")] = "0x" + content[2:].rjust(64, "0")
    return slots if len(slots) == len(value) else None


_FIELDS: dict[str, Callable[[Any], Any]] = {
    "balance": lambda value: _quantity(value, 256),
    "nonce": lambda value: _quantity(value, 64),
    "code": _data,
    "storage": _storage,
}
"""Function of each field that returns its normal form, or None for a malformed value."""
