"""The merchants of a process: started and stopped together, and refused together if one of them is at fault."""

import logging
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families
from sqlalchemy import make_url

from foreseal.cli.main import run
from foreseal.payments.api.request_threads import MAX_REQUEST_THREADS
from foreseal.payments.configuration import ConfigurationError, read
from foreseal.payments.hosting.merchant_host import MAX_REQUESTS, MAX_SHOPPER_REQUESTS, MerchantFailed, MerchantHost
from foreseal.payments.ledger import Database
from foreseal.payments.ledger.database_identity import find_identity
from foreseal.payments.merchant_context import MerchantFilter, merchant_context
from foreseal.payments.workers.process_name import ProcessName, build_lock
from foreseal.ports import next_free_port
from foreseal.server import interpreter
from foreseal.server.sockets.listening import BACKLOG
from live.blocks import wait_for
from payments.api.service_harness import call_application
from payments.fake.contracts import TOKEN
from payments.people import account
from repository import ROOT

ENVIRONMENT = {name: "0x" + bytes(account(number).key).hex() for name, number in (("BOOKS_KEY", 1), ("GAMES_KEY", 2))}
NOW = 1_800_000_000.0
SECONDS = 30.0


def configure(folder: Path, name: str, url: str, *, key: str | None = None, more: str = "", named: bool = True) -> Path:
    """Write the configuration of a merchant whose node does not exist."""
    path = folder / f"{name}.toml"
    path.write_text(
        f"""
{f'[merchant]{chr(10)}name = "{name}"' if named else ""}
[node]
url = "http://127.0.0.1:{next_free_port()}"
chain_id = 31337
[token]
address = "{TOKEN}"
[payee]
key_env = "{key or f"{name.upper()}_KEY"}"
[database]
url = '{url}'
[serve]
listen = "127.0.0.1:8600"
{more}
"""
    )
    return path


@contextmanager
def hosting(*files: Path) -> Iterator[MerchantHost]:
    host = MerchantHost([read(file) for file in files], ENVIRONMENT, lambda: NOW)
    try:
        host.start()
        yield host
    finally:
        host.stop()
        host.close()


def conflicts(*files: Path) -> list[str]:
    with pytest.raises(ConfigurationError) as raised:
        MerchantHost([read(file) for file in files], ENVIRONMENT, lambda: NOW)
    return raised.value.problems


def alias(url: str, folder: Path) -> str:
    """Return another URL of the same database."""
    parts = make_url(url)
    if parts.get_backend_name() == "postgresql":
        return parts.update_query_dict({"application_name": "alias"}).render_as_string(hide_password=False)
    (folder / "alias.db").symlink_to(str(parts.database))
    return f"sqlite:///{folder}/alias.db"


def test_health_and_metrics_have_every_merchant(url: str, other_url: str, tmp_path: Path) -> None:
    with hosting(configure(tmp_path, "books", url), configure(tmp_path, "games", other_url)) as host:
        health = call_application(host.app, "GET", "/healthz")
        # Neither has a node.
        assert (health.status_code, health.json()["status"]) == (503, "unhealthy")
        codes = {
            name: [each["code"] for each in merchant["reasons"]]
            for name, merchant in health.json()["merchants"].items()
        }
        assert codes == {"books": ["node_unreachable"], "games": ["node_unreachable"]}
        families = list(text_string_to_metric_families(call_application(host.app, "GET", "/metrics").text))
        assert len({family.name for family in families}) == len(families)
        (up,) = [family for family in families if family.name == "foreseal_pay_node_up"]
        assert [(sample.labels, sample.value) for sample in up.samples] == [
            ({"merchant": "books"}, 0.0),
            ({"merchant": "games"}, 0.0),
        ]
        assert all("merchant" in sample.labels for family in families for sample in family.samples)
        own = call_application(host.app, "GET", "/books/metrics").text
        assert "foreseal_pay_node_up 0" in own
        assert "games" not in own
        (destination,) = call_application(host.app, "GET", "/games/healthz").json()["destinations"]
    assert destination["payee"]["address"] == account(2).address


def test_one_merchant_without_a_name_is_at_the_root(url: str, tmp_path: Path) -> None:
    with hosting(configure(tmp_path, "books", url, named=False)) as host:
        assert host.services == {}
        assert call_application(host.app, "GET", "/v1/openapi.json").status_code == 200
        assert "merchants" not in call_application(host.app, "GET", "/healthz").json()


def test_one_merchant_with_a_name_is_below_it(url: str, tmp_path: Path) -> None:
    with hosting(configure(tmp_path, "books", url)) as host:
        assert call_application(host.app, "GET", "/books/v1/openapi.json").status_code == 200
        assert call_application(host.app, "GET", "/v1/openapi.json").status_code == 404


def test_one_database_below_two_urls_is_rejected(url: str, other_url: str, tmp_path: Path) -> None:
    books, games = configure(tmp_path, "books", url), configure(tmp_path, "games", alias(url, tmp_path))
    (problem,) = conflicts(books, games)
    assert problem == f"{books} and {games}: database.url leads to the same database: each merchant needs its own"
    with hosting(books, configure(tmp_path, "games", other_url)):
        pass


def test_two_databases_have_different_identities(url: str, other_url: str, tmp_path: Path) -> None:
    databases = [Database(each) for each in (url, alias(url, tmp_path), other_url)]
    one, same, other = [find_identity(each) for each in databases]
    assert one == same
    assert {one.database, one.tables}.isdisjoint({other.database, other.tables})
    for each in databases:
        each.close()


def test_one_payee_key_of_two_merchants_is_rejected(url: str, other_url: str, tmp_path: Path) -> None:
    books, games = configure(tmp_path, "books", url), configure(tmp_path, "games", other_url, key="BOOKS_KEY")
    (problem,) = conflicts(books, games)
    assert problem.startswith(f"{books} and {games}: the payee is {account(1).address} on chain 31337 in both: ")


@pytest.mark.parametrize("fault", ["database", "secret", "section", "syntax", "schema"])
def test_fault_of_one_merchant_refuses_the_start_and_names_its_file(
    url: str, tmp_path: Path, fault: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    database = f"sqlite:///{tmp_path}/missing/pay.db" if fault == "database" else f"sqlite:///{tmp_path}/games.db"
    books, games = configure(tmp_path, "books", url), configure(tmp_path, "games", database)
    expected = {
        "database": "cannot open the database: OperationalError",
        "secret": "GAMES_KEY",
        "section": "the section [token] is missing",
        "syntax": "is not TOML",
        "schema": "the database has schema 9999",
    }[fault]
    if fault == "secret":
        monkeypatch.delenv("GAMES_KEY")
    if fault == "section":
        games.write_text(re.sub(r"\[token\]\naddress = .*", "", games.read_text()))
    if fault == "syntax":
        games.write_text("[merchant")
    if fault == "schema":
        made = Database(database)
        with made.transaction() as tx:
            tx.exec_driver_sql("UPDATE alembic_version SET version_num = '9999'")
        made.close()
    # The test runner has its own logs.
    monkeypatch.setattr(interpreter, "configure_interpreter", lambda log: None)
    try:
        code: object = run(["pay", "serve", "--config", str(books), "--config", str(games)])
    except SystemExit as end:
        code = end.code
    printed = capsys.readouterr().err
    assert code == (1 if fault == "database" else 2)
    assert str(games) in printed
    assert str(books) not in printed
    assert expected in printed
    assert not service_threads()


def documentation() -> str:
    """Return the page of the service without line breaks."""
    return " ".join((ROOT / "docs/merchants/service.md").read_text().split())


FIXED = ["database check", "node check", "payments", "webhook database", "webhooks", "worker", "write check"]


def service_threads() -> list[str]:
    """Return the names of threads that belong to services."""
    kinds = ("worker", "advance", "webhook", "payments", "node check", "database check", "write check", "waking")
    return sorted(each.name for each in threading.enumerate() if each.name.startswith(kinds))


def test_exported_metrics_name_their_merchant(url: str, other_url: str, tmp_path: Path) -> None:
    with hosting(configure(tmp_path, "books", url), configure(tmp_path, "games", other_url)) as host:
        families = {family.name: family for family in host.families()}
        page = {family.name for family in text_string_to_metric_families(host.text())}
    assert {name.removesuffix("_total") for name in families} == page
    merchants = [sample.labels["merchant"] for sample in families["foreseal_pay_node_up"].samples]
    assert merchants == ["books", "games"]


def test_failed_start_stops_the_merchants_that_started(url: str, other_url: str, tmp_path: Path) -> None:
    more = 'name = "shop-1"\n'
    books, games = configure(tmp_path, "books", url), configure(tmp_path, "games", other_url, more=more)
    database = Database(other_url)
    lock = build_lock(database, ProcessName("shop-1"))
    assert lock.acquire()
    host = MerchantHost([read(books), read(games)], ENVIRONMENT, lambda: NOW)
    with pytest.raises(MerchantFailed, match="another process with the name shop-1 uses the database") as raised:
        host.start()
    assert raised.value.path == games
    host.stop()
    host.close()
    assert not service_threads()
    lock.release()
    database.close()
    with hosting(books, games):
        pass


def test_threads_of_each_merchant_are_those_of_the_documentation(url: str, other_url: str, tmp_path: Path) -> None:
    (documented,) = re.findall(r"has (\d+) threads of its own without the feed", documentation())
    assert not service_threads()
    books, games = configure(tmp_path, "books", url), configure(tmp_path, "games", other_url)
    with hosting(books) as host:
        # Some threads start with their first work.
        wait_for(lambda: len(fixed_threads()) == len(FIXED), SECONDS, "the threads of a merchant")
        assert fixed_threads() == FIXED
        (service,) = host.services.values()
        assert len(FIXED) + service._pool._max_workers == int(documented)
    with hosting(books, games):
        wait_for(lambda: fixed_threads() == sorted(2 * FIXED), SECONDS, "the threads of two merchants")
    assert not service_threads()


def test_limits_are_those_of_the_documentation() -> None:
    page = documentation()
    assert re.findall(r"Up to (\d+) more execute its requests", page) == [str(MAX_REQUEST_THREADS)]
    limits = re.findall(r"executes (\d+) requests of merchants and (\d+) of their shoppers", page)
    assert limits == [(str(MAX_REQUESTS), str(MAX_SHOPPER_REQUESTS))]
    assert re.findall(r"its ([\d,]+) connections", page) == [f"{BACKLOG:,}"]
    assert MAX_REQUESTS + MAX_SHOPPER_REQUESTS < BACKLOG


def fixed_threads() -> list[str]:
    """Return the threads of services except those that a pool starts one by one, as it needs them."""
    return [name.removesuffix("_0") for name in service_threads() if not name.startswith("advance")]


def test_log_lines_name_their_merchant(
    url: str, other_url: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.handler.addFilter(MerchantFilter())
    with (
        caplog.at_level(logging.WARNING),
        hosting(configure(tmp_path, "books", url), configure(tmp_path, "games", other_url)) as host,
    ):
        for service in host.services.values():
            service._repeating.wake()
        wait_for(
            lambda: {"books", "games"} <= {getattr(each, "merchant", None) for each in caplog.records},
            SECONDS,
            "a line of each merchant",
        )
    logging.getLogger("foreseal").warning("of no merchant")
    with merchant_context("books"):
        logging.getLogger("foreseal").warning("of books")
    assert [getattr(each, "merchant", None) for each in caplog.records[-2:]] == [None, "books"]
