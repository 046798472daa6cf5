"""Conflicts between merchants of one process: each is reported with both files."""

from dataclasses import replace
from pathlib import Path

import pytest

from foreseal.payments.configuration import Configuration, ConfigurationError, read
from foreseal.payments.hosting.conflicts import MerchantResources, check_configurations, check_resources
from foreseal.payments.ledger.database_identity import DatabaseIdentity

CONTENT = """
[node]
url = "http://127.0.0.1:8545"
chain_id = 1
[database]
url = "sqlite:///pay.db"
"""
PAYEE = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"
BOOKS = MerchantResources(Path("a.toml"), 1, frozenset({PAYEE}), DatabaseIdentity("server 1", "server 1 orders"), "p")
GAMES = MerchantResources(Path("b.toml"), 1, frozenset({"0xB"}), DatabaseIdentity("server 2", "server 2 orders"), "p")


def file(folder: Path, name: str, more: str) -> Configuration:
    path = folder / name
    path.write_text(CONTENT + more)
    return read(path)


def problems(*configurations: Configuration) -> list[str]:
    with pytest.raises(ConfigurationError) as raised:
        check_configurations(configurations)
    return raised.value.problems


def resource_problems(*resources: MerchantResources) -> list[str]:
    with pytest.raises(ConfigurationError) as raised:
        check_resources(resources)
    return raised.value.problems


def test_one_merchant_needs_no_name(tmp_path: Path) -> None:
    check_configurations([file(tmp_path, "a.toml", "")])
    check_configurations([file(tmp_path, "a.toml", '[merchant]\nname = "books"')])


def test_several_merchants_need_names(tmp_path: Path) -> None:
    books = file(tmp_path, "a.toml", '[merchant]\nname = "books"')
    check_configurations([books, file(tmp_path, "b.toml", '[merchant]\nname = "games"')])
    messages = problems(books, file(tmp_path, "b.toml", ""))
    assert messages == [
        f"{tmp_path}/b.toml: the section [merchant] is missing: several merchants in one process need names"
    ]


def test_equal_names_and_different_listeners_are_rejected_together(tmp_path: Path) -> None:
    named = '[merchant]\nname = "books"\n'
    books = file(tmp_path, "a.toml", named)
    other = file(tmp_path, "b.toml", f'{named}[serve]\nlisten = "127.0.0.1:8601"')
    both = f"{tmp_path}/a.toml and {tmp_path}/b.toml"
    assert problems(books, other) == [
        f"{both}: merchant.name is books in both: each merchant needs its own name",
        f"{both}: serve.listen must be equal, because a process has one listener, "
        "got 127.0.0.1:8600 and 127.0.0.1:8601",
    ]


def test_file_named_twice_is_rejected(tmp_path: Path) -> None:
    books = file(tmp_path, "a.toml", '[merchant]\nname = "books"')
    (tmp_path / "link.toml").symlink_to(tmp_path / "a.toml")
    linked = read(tmp_path / "link.toml")
    assert problems(books, linked) == [f"{tmp_path}/a.toml and {tmp_path}/link.toml: are the same file"]


def test_every_pair_of_merchants_is_checked(tmp_path: Path) -> None:
    files = [
        file(tmp_path, f"{number}.toml", f'[merchant]\nname = "{name}"') for number, name in enumerate(("x", "y", "x"))
    ]
    (message,) = problems(*files)
    assert message.startswith(f"{tmp_path}/0.toml and {tmp_path}/2.toml: ")


def test_merchants_with_their_own_resources_are_accepted() -> None:
    check_resources([BOOKS, GAMES])
    # The same key on another chain has other nonces.
    check_resources([BOOKS, replace(GAMES, payees=BOOKS.payees, chain_id=2)])
    # The lock of a process name is per database.
    check_resources([BOOKS, replace(GAMES, process_name=BOOKS.process_name)])
    schemas = DatabaseIdentity("server 1", "server 1 other orders")
    check_resources([BOOKS, replace(GAMES, database=schemas, process_name="q")])


def test_shared_database_is_rejected() -> None:
    assert resource_problems(BOOKS, replace(GAMES, database=BOOKS.database)) == [
        "a.toml and b.toml: database.url leads to the same database: each merchant needs its own"
    ]


def test_shared_payee_on_one_chain_is_rejected() -> None:
    assert resource_problems(BOOKS, replace(GAMES, payees=frozenset({"0xB", PAYEE}))) == [
        f"a.toml and b.toml: the payee is {PAYEE} on chain 1 in both: two services with one key would send "
        "transactions with the same account nonces, and one payment could pay a sale of each: services with one "
        "payee need one database"
    ]


def test_equal_process_names_in_one_postgresql_database_are_rejected() -> None:
    schemas = DatabaseIdentity("server 1", "server 1 other orders")
    assert resource_problems(BOOKS, replace(GAMES, database=schemas)) == [
        "a.toml and b.toml: the processes have the same name p in one PostgreSQL database: set different names "
        "([serve] name)"
    ]


@pytest.mark.parametrize("name", ["Books", "", "1books", "a/b", "a.b", "..", "b" * 33, "büch", "a b", "%41"])
def test_invalid_merchant_name_is_rejected(tmp_path: Path, name: str) -> None:
    with pytest.raises(ConfigurationError, match=r"merchant\.name: "):
        file(tmp_path, "a.toml", f'[merchant]\nname = "{name}"')


@pytest.mark.parametrize("name", ["healthz", "metrics", "docs", "v1"])
def test_name_of_a_path_of_the_process_is_rejected(tmp_path: Path, name: str) -> None:
    with pytest.raises(ConfigurationError, match=f"merchant.name: '{name}' is the name of a path of every process"):
        file(tmp_path, "a.toml", f'[merchant]\nname = "{name}"')
