"""Causes in the database of a merchant service."""

import contextlib
import os
import signal
import sqlite3
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from alerts.scenario import SECONDS, Scenario, Started, pay_job
from foreseal.ports import next_free_port
from live import DEV_ACCOUNTS, live_node
from live.process import stopping
from payments.api.serving import BUYERS, HostedServing, Shopper, api_key, configure, serving
from payments.postgresql import children_of, postmaster_of, programs, server

# Merchants of one process, and requests of one of them: more than its share of 600.
_MERCHANTS = 4
_REQUESTS = 170


@contextlib.contextmanager
def lost_database(folder: Path) -> Iterator[Started]:
    """Stop the PostgreSQL of a merchant service."""
    with _merchant_on_postgresql(folder) as (started, shopper, postmaster):
        stopped = False

        def create() -> None:
            nonlocal stopped
            if not stopped:
                # An immediate shutdown, without a wait for clients.
                os.kill(postmaster, signal.SIGQUIT)
                stopped = True
            for _ in range(4):
                shopper.post("/v1/orders", {"payer": BUYERS[0].address, "amount": "5"})

        yield Started(started.jobs, create, is_healthy_first=True)


@contextlib.contextmanager
def hung_database(folder: Path) -> Iterator[Started]:
    """Stop all processes of PostgreSQL with SIGSTOP."""
    with _merchant_on_postgresql(folder) as (started, _, postmaster):
        stopped: list[int] = []

        def stop() -> None:
            if not stopped:
                # Without the postmaster no other process appears.
                os.kill(postmaster, signal.SIGSTOP)
                stopped.extend([postmaster, *children_of(postmaster)])
                for pid in stopped[1:]:
                    os.kill(pid, signal.SIGSTOP)

        try:
            yield Started(started.jobs, stop, is_healthy_first=True)
        finally:
            for pid in stopped:
                os.kill(pid, signal.SIGCONT)


@contextlib.contextmanager
def _merchant_on_postgresql(folder: Path) -> Iterator[tuple[Started, Shopper, int]]:
    """Run a merchant service, and yield it with a client and the process id of its PostgreSQL."""
    binaries = programs() or pytest.skip("PostgreSQL is not installed")
    with server(binaries) as url, live_node("--payments", "--block-time", "1s") as node:
        config = configure(folder, node.url, url)
        with serving(config, "--log", "error") as service, Shopper(service.url, api_key(config)) as shopper:
            yield Started(pay_job(service)), shopper, postmaster_of(url)


@contextlib.contextmanager
def locked_database(folder: Path) -> Iterator[Started]:
    """Lock the SQLite database of one of several merchants, and send more requests than its share."""
    with live_node("--payments", "--block-time", "1s") as node:
        configs = _several_merchants(folder, node.url)
        key = api_key(configs[0])
        with stopping(HostedServing(*configs)) as service, ThreadPoolExecutor(_REQUESTS) as pool:
            client = httpx.Client(timeout=SECONDS, limits=httpx.Limits(max_connections=_REQUESTS))
            keys = iter(range(1_000_000))

            def create(_: int) -> None:
                headers = {"authorization": f"Bearer {key}", "idempotency-key": f"load {next(keys)}"}
                body = {"payer": BUYERS[0].address, "amount": "5"}
                # The service ends at last, and its connections with it.
                with contextlib.suppress(httpx.TransportError):
                    client.post(f"{service.url}/shop0/v1/orders", json=body, headers=headers)

            with client, contextlib.closing(sqlite3.connect(folder / "shop0.db", isolation_level=None)) as locker:
                create(0)
                locker.execute("BEGIN IMMEDIATE")
                yield Started(pay_job(service), lambda: list(pool.map(create, range(_REQUESTS))))
                locker.execute("ROLLBACK")


def _several_merchants(folder: Path, node: str) -> list[Path]:
    listen = f"127.0.0.1:{next_free_port()}"
    configs = []
    for number in range(_MERCHANTS):
        name = f"shop{number}"
        (folder / name).mkdir()
        database = f"sqlite:///{folder}/{name}.db"
        section = f'[merchant]\nname = "{name}"\n'
        config = configure(folder / name, node, database, more=section, payee=DEV_ACCOUNTS[11 + number])
        config.write_text(config.read_text().replace("127.0.0.1:0", listen))
        configs.append(config)
    return configs


DATABASE_SCENARIOS = (
    Scenario(
        "a database that stops",
        frozenset({"ForesealPayDatabaseDown", "ForesealPayDatabaseErrors"}),
        lost_database,
    ),
    Scenario(
        "a database that hangs",
        frozenset({"ForesealPayDatabaseDown", "ForesealPayCheckStale"}),
        hung_database,
    ),
    Scenario(
        "a locked database, and more requests than the share of its merchant",
        frozenset({"ForesealPayOverloaded", "ForesealPayDatabaseNotWritable"}),
        locked_database,
    ),
)
