"""Databases of lives: new files of SQLite, or databases of one PostgreSQL server."""

import itertools
import logging
import shutil
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

from foreseal.payments.ledger import Database
from payments.postgresql import empty_database, named_database
from wallets.lives.runner import LivesReport, run


def run_part(database: str, url: str | None, seeds: range) -> LivesReport:
    """Run the lives of one process. `url` is that of a PostgreSQL server, or None for SQLite."""
    # The package x402 and the services log each rejected payment.
    logging.disable(logging.ERROR)
    with tempfile.TemporaryDirectory(prefix="foreseal-lives-") as folder:
        if url is None:
            urls: Callable[[], str] = _sqlite(Path(folder))
        else:
            urls = partial(empty_database, named_database(url, f"lives{seeds[0]}"))
        return run(LivesReport(database), seeds, urls, partial(print, flush=True))


def _sqlite(folder: Path) -> Callable[[], str]:
    """Return a function that returns the URL of a new empty database: a copy takes less time than its creation."""
    empty, numbers = folder / "empty.db", itertools.count()
    Database(f"sqlite:///{empty}").close()

    def new_url() -> str:
        number = next(numbers)
        for old in folder.glob(f"{number - 1}.db*"):
            old.unlink()
        return f"sqlite:///{shutil.copy(empty, folder / f'{number}.db')}"

    return new_url
