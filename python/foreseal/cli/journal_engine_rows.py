"""Table of the etcd members behind a quorum journal."""

from collections.abc import Mapping, Sequence
from typing import Any

from foreseal.cli.output import printable

ENGINE_TEXTS = 5
"""Number of columns with text; columns with numbers follow."""
_HEADINGS = ("etcd", "endpoint", "version", "leader", "status", "database", "in use", "hash")


def engine_rows(engine: Mapping[str, Any]) -> list[Sequence[str]]:
    """Return the headings and one row for each endpoint of the engine; the hash of its data only if it was read."""
    names = _names(engine)
    rows: list[Sequence[str]] = [_HEADINGS]
    rows += [_row(each, names, _hashes(engine)) for each in engine["endpoints"]]
    return rows if "hashes" in engine else [row[:-1] for row in rows]


def _names(engine: Mapping[str, Any]) -> dict[str, str]:
    """Return the names of the members by id and, for those that do not answer, by the addresses for clients."""
    by_id = {member["id"]: member["name"] for member in engine["members"]}
    by_address = {url.partition("://")[2]: member["name"] for member in engine["members"] for url in member["urls"]}
    return by_address | by_id


def finding_text(finding: Mapping[str, Any]) -> str:
    """Return the message of a finding with each cause once: the layers of a connection repeat them."""
    return printable(": ".join(dict.fromkeys(finding["message"].split(": "))))


def _row(endpoint: Mapping[str, Any], names: Mapping[str, str], hashes: Mapping[str, int | None]) -> tuple[str, ...]:
    address = endpoint["endpoint"]
    if endpoint["error"] is not None:
        cause = endpoint["error"].rpartition(": ")[2]
        return (names.get(address) or "-", address, "-", "-", f"unreachable: {cause}", "-", "-", "-")
    digest = hashes.get(address)
    return (
        names.get(endpoint["id"]) or endpoint["id"],
        address,
        endpoint["version"],
        "yes" if endpoint["leader"] else "no" if endpoint["hasLeader"] else "none elected",
        ", ".join(endpoint["alarms"]) or "ok",
        _megabytes(endpoint["databaseBytes"]),
        _megabytes(endpoint["usedBytes"]),
        "-" if digest is None else f"{digest:08x}",
    )


def _hashes(engine: Mapping[str, Any]) -> dict[str, int | None]:
    return {each["endpoint"]: each.get("hash") for each in engine.get("hashes", ())}


def _megabytes(size: int) -> str:
    return f"{size / 1e6:,.1f} MB"
