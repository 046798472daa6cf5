"""`foreseal pay db`: the schema of a payments database is shown, checked and upgraded."""

import sqlite3
from pathlib import Path

import pytest

from command import foreseal
from foreseal.cli.main import run
from foreseal.cli.pay_db import check_schema, print_current, upgrade
from foreseal.payments.ledger import Database
from foreseal.server import interpreter
from payments.next_schema import install_next_schema

CONFIGURATION = """
[node]
url = "http://127.0.0.1:1"
chain_id = 31337
[token]
address = "0x5FbDB2315678afecb367f032d93F642f64180aa3"
[payee]
key_env = "PAYEE_KEY"
[facilitator]
key_env = "FACILITATOR_KEY"
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


def test_empty_database_gets_the_schema_of_this_version(config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (config.parent / "pay.db").touch()
    for action in (print_current, upgrade, upgrade, print_current, check_schema):
        action(config)
    lines = ["empty", "schema empty upgraded to 1", "schema 1", "1", "schema 1: no upgrade is needed"]
    assert capsys.readouterr().out.splitlines() == lines


def test_older_database_is_reported_and_upgraded(
    config: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    Database(f"sqlite:///{config.parent}/pay.db").close()
    install_next_schema(monkeypatch, config.parent)
    with pytest.raises(SystemExit) as refused:
        check_schema(config)
    assert refused.value.code == 1
    assert f"schema 1, older than 2: run `foreseal pay db upgrade {config}`" in capsys.readouterr().err
    upgrade(config)
    printed = capsys.readouterr()
    assert printed.out == "schema 1 upgraded to 2\n"
    assert printed.err == "foreseal: 2: Schema 2: notes of orders.\n"
    check_schema(config)
    assert capsys.readouterr().out == "schema 2: no upgrade is needed\n"


@pytest.mark.parametrize(
    ("revision", "message"),
    [
        ("2", "schema 2, newer than 1 of this version: install a newer Foreseal"),
        ("0018", "schema 0018 of an unreleased version of Foreseal; no release opens, upgrades or changes it"),
    ],
)
def test_other_schemas_are_rejected_by_every_command(
    config: Path, revision: str, message: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("PAYEE_KEY", "FACILITATOR_KEY"):
        monkeypatch.setenv(name, "0x" + "11" * 32)
    # The test runner has its own logs.
    monkeypatch.setattr(interpreter, "configure_interpreter", lambda log: None)
    file = config.parent / "pay.db"
    url = f"sqlite:///{file}"
    Database(url).close()
    with sqlite3.connect(file) as database:
        database.execute("UPDATE alembic_version SET version_num = ?", [revision])
    database.close()
    before = file.read_bytes()
    for command in (
        ("db", "check", str(config)),
        ("db", "upgrade", str(config)),
        ("keys", "list", "--config", str(config)),
        ("account", str(config)),
        ("serve", "--config", str(config)),
        ("serve", "--config", str(config), "--upgrade-database"),
        ("facilitator", "--config", str(config), "--upgrade-database"),
        ("spent", "--database", url),
        ("spent", "--database", url, "--upgrade-database"),
    ):
        try:
            code: object = run(["pay", *command])
        except SystemExit as end:
            code = end.code
        assert code not in (None, 0), command
        assert message in capsys.readouterr().err, command
    print_current(config)
    assert capsys.readouterr().out == f"{revision}\n"
    assert file.read_bytes() == before
