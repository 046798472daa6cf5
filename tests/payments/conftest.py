"""Fixtures of the payments.

Every test that asks for `url` runs on SQLite and on PostgreSQL; one that asks for `shop` or `make` also on a real node
with the real contracts, unless it is marked `in_memory`; what is marked `on_a_node` there alone.
"""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from sqlalchemy import create_engine, inspect

from foreseal.payments.ledger.tables import metadata
from payments.postgresql import programs, server
from payments.real.node import on_a_node
from payments.shop import Chains, Make, Shop, in_memory

_MEMORY = Path("/dev/shm")


@pytest.fixture(scope="session")
def postgresql() -> Iterator[str]:
    """The URL of a server for this session."""
    folder = programs()
    if folder is None:
        pytest.skip("no initdb and postgres on this machine (Debian: apt install postgresql)")
    with server(folder) as url:
        yield url


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    databases = ["sqlite", "postgresql"]
    if "make" in metafunc.fixturenames:
        pairs = [(database, "memory") for database in databases]
        if metafunc.definition.get_closest_marker("in_memory") is None:
            pairs.append(("sqlite", "node"))
        if metafunc.definition.get_closest_marker("on_a_node") is not None:
            pairs = [(database, "node") for database in databases]
        metafunc.parametrize(("new_url", "chains"), pairs, indirect=True)
    elif "new_url" in metafunc.fixturenames:
        metafunc.parametrize("new_url", databases, indirect=True)


@pytest.fixture
def chains(request: pytest.FixtureRequest) -> Chains:
    """What makes a chain: in memory, or a node with the contracts."""
    return on_a_node if request.param == "node" else in_memory


@pytest.fixture
def new_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[[], str]]:
    """Gives the URL of an empty database, each time another one, or the same emptied."""
    if request.param == "postgresql":
        url = request.getfixturevalue("postgresql")
        yield lambda: _emptied(url)
        return
    folder = _MEMORY / f"foreseal-{os.getpid()}-{tmp_path.name}" if os.access(_MEMORY, os.W_OK) else tmp_path / "db"
    folder.mkdir()
    made: list[Path] = []

    def fresh() -> str:
        for old in folder.iterdir():
            old.unlink()
        made.append(folder / f"{len(made)}.db")
        return f"sqlite:///{made[-1]}"

    yield fresh
    for old in folder.iterdir():
        old.unlink()
    folder.rmdir()


@pytest.fixture
def emptied(postgresql: str) -> str:
    """The URL of an empty PostgreSQL."""
    return _emptied(postgresql)


def _emptied(url: str) -> str:
    engine = create_engine(url)
    with engine.begin() as tx:
        if inspect(tx).has_table("schema"):
            names = ", ".join(table.name for table in metadata.sorted_tables)
            tx.exec_driver_sql(f"DROP TABLE IF EXISTS {names} CASCADE")
    engine.dispose()
    return url


@pytest.fixture
def url(new_url: Callable[[], str]) -> str:
    """The URL of an empty database."""
    return new_url()


@pytest.fixture
def make(url: str, chains: Chains) -> Iterator[Make]:
    """Makes the shop of a test, with settings of its own."""
    made: list[Shop] = []

    def one(*args: object, **settings: object) -> Shop:
        made.append(Shop(url, *args, chains=chains, **settings))  # type: ignore[arg-type]
        return made[-1]

    yield one
    for each in made:
        each.close()


@pytest.fixture
def shop(make: Make) -> Shop:
    """A merchant on a chain."""
    return make()
