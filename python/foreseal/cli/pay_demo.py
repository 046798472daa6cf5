"""`foreseal pay demo`: the life cycle of payments on a development chain, state by state."""

import contextlib
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator

import click
from eth_account import Account

from foreseal._core import derive_accounts
from foreseal.client import Client, ClientError
from foreseal.payments.chain import ChainError
from foreseal.payments.contracts.development import MIN_ACCOUNTS, TOKEN
from foreseal.payments.demo import DemoEnvironment, DemoPlayer, NotDevelopment, Surprise
from foreseal.payments.ledger import Database
from foreseal.server.settings import DevChain

# Seconds between two polls of the chain.
_POLL_INTERVAL = 0.005
_URL = re.compile(r"http://\S+:\d+")
# Seconds that the node has to exit on its own.
_PATIENCE = 30


def play_demo(url: str | None) -> None:
    """Show the life cycle of a payment on the development chain at `url`; start a node if it is None."""
    with contextlib.ExitStack() as stack:
        try:
            _play(url or stack.enter_context(_own_node()), stack)
        except (NotDevelopment, Surprise, ChainError, ClientError) as error:
            raise click.ClickException(f"{url or 'demo'}: {error}") from None


def _play(url: str, stack: contextlib.ExitStack) -> None:
    mnemonic = DevChain().mnemonic
    accounts = [Account.from_key(key) for _, key in derive_accounts(mnemonic, MIN_ACCOUNTS)]
    folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="foreseal-"))
    database = Database(f"sqlite:///{folder}/demo.db")
    stack.callback(database.close)
    client = stack.enter_context(Client(url))
    stage = DemoEnvironment(client, database, accounts, lambda: time.sleep(_POLL_INTERVAL), time.perf_counter)
    click.echo(f"Payments on {url}: token {TOKEN}, merchant {stage.key.address}")
    DemoPlayer(stage, click.echo).play()


@contextlib.contextmanager
def _own_node() -> Iterator[str]:
    """Start `foreseal dev --payments` for the context and return its URL. Raise `NotDevelopment` if that fails."""
    command = [sys.executable, "-m", "foreseal", "dev", "--payments", "--port", "0"]
    with (
        tempfile.TemporaryFile("w+") as stderr,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=stderr, text=True) as running,  # noqa: S603 - our own command
    ):
        assert running.stdout is not None
        try:
            for line in running.stdout:
                if match := _URL.search(line):
                    break
            else:
                stderr.seek(0)
                raise NotDevelopment(f"the node did not start: {stderr.read().strip()}")
            yield match[0]
        finally:
            running.terminate()
            running.communicate(timeout=_PATIENCE)
