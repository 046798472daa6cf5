"""Table of the etcd members behind a quorum journal."""

from collections.abc import Mapping, Sequence
from typing import Any

ENGINE_TEXTS = 5
"""Number of columns with text; numbers follow."""
_HEADINGS = ("etcd", "endpoint", "version", "leader", "alarms", "database", "in use", "hash")


def engine_rows(engine: Mapping[str, Any]) -> list[Sequence[str]]:
    """Return the headings and one row for each endpoint of the engine; the hash of its data only if it was read."""
    names = {member["id"]: member["name"] for member in engine["members"]}
    rows: list[Sequence[str]] = [_HEADINGS]
    rows += [_row(each, names, _hashes(engine)) for each in engine["endpoints"]]
    return rows if "hashes" in engine else [row[:-1] for row in rows]


def _row(endpoint: Mapping[str, Any], names: Mapping[str, str], hashes: Mapping[str, int | None]) -> tuple[str, ...]:
    address = endpoint["endpoint"]
    if endpoint["error"] is not None:
        return ("-", address, "-", "-", f"unreachable: {endpoint['error'].rpartition(': ')[2]}", "-", "-", "-")
    digest = hashes.get(address)
    return (
        names.get(endpoint["id"]) or endpoint["id"],
        address,
        endpoint["version"],
        "yes" if endpoint["leader"] else "no" if endpoint["hasLeader"] else "none elected",
        ", ".join(endpoint["alarms"]) or "none",
        _megabytes(endpoint["databaseBytes"]),
        _megabytes(endpoint["usedBytes"]),
        "-" if digest is None else f"{digest:08x}",
    )


def _hashes(engine: Mapping[str, Any]) -> dict[str, int | None]:
    return {each["endpoint"]: each.get("hash") for each in engine.get("hashes", ())}


def _megabytes(size: int) -> str:
    return f"{size / 1e6:,.1f} MB"
