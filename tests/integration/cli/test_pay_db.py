"""`foreseal pay db`: the schema of a payments database is shown, checked and upgraded."""

import sqlite3
from pathlib import Path

import pytest

from command import foreseal
from payments.old_schema import create

CONFIGURATION = """
[node]
url = "http://127.0.0.1:1"
chain_id = 31337
[token]
address = "0x5FbDB2315678afecb367f032d93F642f64180aa3"
[payee]
key_env = "PAYEE_KEY"
[database]
url = "sqlite:///{folder}/pay.db"
"""


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """Return a configuration whose database does not exist."""
    path = tmp_path / "pay.toml"
    path.write_text(CONFIGURATION.format(folder=tmp_path))
    return path


def test_missing_database_file_is_not_created(config: Path) -> None:
    for command in ("current", "check", "upgrade"):
        ended = foreseal("pay", "db", command, config)
        assert ended.returncode == 1
        assert "pay.db does not exist" in ended.stderr
    assert not (config.parent / "pay.db").exists()


def test_older_database_is_reported_and_upgraded(config: Path) -> None:
    create(f"sqlite:///{config.parent}/pay.db", 10)
    assert foreseal("pay", "db", "current", config).stdout == "0003\n"
    checked = foreseal("pay", "db", "check", config)
    assert checked.returncode == 1
    assert f"schema 0003, older than 0018: run `foreseal pay db upgrade {config}`" in checked.stderr
    refused = foreseal("pay", "keys", "list", "--config", config)
    assert refused.returncode == 2
    assert "foreseal pay db upgrade" in refused.stderr
    upgraded = foreseal("pay", "db", "upgrade", config)
    assert (upgraded.returncode, upgraded.stdout) == (0, "schema 0003 upgraded to 0018\n")
    assert "foreseal: 0004: tables altered" in upgraded.stderr
    assert foreseal("pay", "db", "check", config).stdout == "schema 0018: no upgrade is needed\n"
    assert foreseal("pay", "db", "upgrade", config).stdout == "schema 0018\n"
    assert foreseal("pay", "keys", "list", "--config", config).returncode == 0


def test_spent_upgrades_a_buyers_database_on_request(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/buyer.db"
    create(url, 0, lambda name: name in ("purchases", "budgets", "buyer_channels"))
    refused = foreseal("pay", "spent", "--database", url)
    assert refused.returncode == 1
    assert "--upgrade-database" in refused.stderr
    assert foreseal("pay", "spent", "--database", url, "--upgrade-database").returncode == 0
    assert foreseal("pay", "spent", "--database", url).returncode == 0


def test_newer_schema_fails_the_check(config: Path) -> None:
    create(f"sqlite:///{config.parent}/pay.db", 10)
    assert foreseal("pay", "db", "upgrade", config).returncode == 0
    with sqlite3.connect(config.parent / "pay.db") as database:
        database.execute("UPDATE alembic_version SET version_num = '0099'")
    database.close()
    for command in ("check", "upgrade"):
        ended = foreseal("pay", "db", command, config)
        assert ended.returncode != 0
        assert "schema 0099, newer than 0018 of this version: install a newer Foreseal" in ended.stderr
