"""The kinds of files that are damaged."""

from pathlib import Path

import orjson

from flips import journal_files
from flips.kind import Kind, Outcome
from foreseal._core import db_verify
from foreseal.errors import NodeError


class Store(Kind):
    """The store's file. Damage in it is reported by table and key."""

    name = "store"

    def files(self, datadir: Path) -> list[Path]:
        """Return the file of tables; the lock file is created at each start."""
        return [datadir / "store" / "data.mdb"]

    def scrub(self, datadir: Path) -> tuple[Outcome, str]:
        """Read every page, and verify everything derived from stored data."""
        try:
            report = orjson.loads(db_verify(str(datadir), lambda *_: None, None))
        except NodeError as error:
            return Outcome.SCRUB, str(error)
        if report["fault_count"]:
            return Outcome.SCRUB, str(report["faults"][0])
        return Outcome.NONE, ""


KINDS: dict[str, Kind] = {kind.name: kind for kind in (Store(), *journal_files.KINDS)}
"""Kinds by name."""
