"""Fixtures of the payment tests.

Every test with `url` runs on SQLite and on PostgreSQL. A test with `shop` or `make` also runs on a real node with the
real contracts, unless it is marked `fake_chain`; a test marked `real_contracts` runs only there. The mark `sqlite_only`
skips PostgreSQL.
"""

import itertools
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from foreseal.payments.chain import ConfirmationPolicy
from foreseal.payments.ledger import Database
from payments.postgresql import empty_database, named_database, programs, server
from payments.real.node import make_node_chain
from payments.shop import Chains, Make, Shop, make_fake_chain

_MEMORY = Path("/dev/shm")


@pytest.fixture(scope="session")
def postgresql() -> Iterator[str]:
    """Provide the URL of a server for this session."""
    folder = programs()
    if folder is None:
        pytest.skip("no initdb and postgres on this machine (Debian: apt install postgresql)")
    with server(folder) as url:
        yield url


@pytest.hookimpl(tryfirst=True)
def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    databases = ["sqlite", "postgresql"]
    if metafunc.definition.get_closest_marker("sqlite_only") is not None:
        databases.remove("postgresql")
    if "make" in metafunc.fixturenames:
        pairs = [(database, "memory") for database in databases]
        if metafunc.definition.get_closest_marker("fake_chain") is None:
            pairs.append(("sqlite", "node"))
        if metafunc.definition.get_closest_marker("real_contracts") is not None:
            pairs = [(database, "node") for database in databases]
        metafunc.parametrize(("new_url", "chains"), pairs, indirect=True)
    elif "new_url" in metafunc.fixturenames:
        metafunc.parametrize("new_url", databases, indirect=True)


@pytest.fixture
def chains(request: pytest.FixtureRequest) -> Chains:
    """Return the factory of a chain: in memory, or a node with the contracts."""
    return make_node_chain if request.param == "node" else make_fake_chain


@pytest.fixture(scope="session")
def empty_sqlite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Provide an SQLite database with empty tables: a copy takes a tenth of the time of its creation."""
    path = tmp_path_factory.mktemp("tables") / "empty.db"
    Database(f"sqlite:///{path}").close()
    return path


@pytest.fixture
def sqlite(tmp_path: Path, empty_sqlite: Path) -> Iterator[Callable[[], str]]:
    """Provide a function that returns the URL of a new empty SQLite, in memory if there is such a folder."""
    folder = _MEMORY / f"foreseal-{os.getpid()}-{tmp_path.name}" if os.access(_MEMORY, os.W_OK) else tmp_path / "db"
    folder.mkdir()
    numbers = itertools.count()
    yield lambda: f"sqlite:///{shutil.copy(empty_sqlite, folder / f'{next(numbers)}.db')}"
    shutil.rmtree(folder)


@pytest.fixture
def new_url(request: pytest.FixtureRequest) -> Callable[[], str]:
    """Return a function that returns the URL of a new empty database, or of the same one emptied."""
    if request.param == "postgresql":
        url = request.getfixturevalue("postgresql")
        return lambda: empty_database(url)
    another, made = request.getfixturevalue("sqlite"), Path()

    def fresh() -> str:
        nonlocal made
        for old in made.parent.glob(f"{made.name}*") if made.name else ():
            old.unlink()
        made = Path((url := another()).removeprefix("sqlite:///"))
        return str(url)

    return fresh


@pytest.fixture
def emptied(postgresql: str) -> str:
    """Return the URL of an empty PostgreSQL."""
    return empty_database(postgresql)


@pytest.fixture
def url(new_url: Callable[[], str]) -> str:
    """Return the URL of an empty database."""
    return new_url()


@pytest.fixture
def other_url(url: str, request: pytest.FixtureRequest) -> str:
    """Return the URL of a second empty database: another file, or another database of the same PostgreSQL server."""
    if not url.startswith("postgresql"):
        return str(request.getfixturevalue("sqlite")())
    return named_database(url, "other")


@pytest.fixture
def make(url: str, chains: Chains) -> Iterator[Make]:
    """Provide a factory of shops with their own settings."""
    made: list[Shop] = []

    def one(policy: ConfirmationPolicy | None = None, finality: int = 40, **settings: Any) -> Shop:
        made.append(Shop(url, policy, finality, chains, **settings))
        return made[-1]

    yield one
    for each in made:
        each.close()


@pytest.fixture
def shop(make: Make) -> Shop:
    """Return a merchant on a chain."""
    return make()
