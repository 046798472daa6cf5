"""`foreseal pay account`: transactions that wait are listed, and one that the node rejects is ended."""

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from eth_account import Account

from command import foreseal
from foreseal.client import Client
from foreseal.payments.chain import ConfirmationPolicy, RpcNode
from foreseal.payments.ledger import Database, Ledger
from foreseal.payments.ledger.models import Purpose
from foreseal.payments.transactions import (
    GWEI,
    FeeQuote,
    LocalSigner,
    TransactionCall,
    TransactionIntents,
    TransactionSender,
)
from live import LiveNode
from live.process import foreseal_command

# The first development account.
KEY = "0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80"
PAYEE = Account.from_key(KEY)
CHAIN_ID = 31337
ENVIRONMENT = os.environ | {"PAYEE_KEY": KEY}


@pytest.fixture(scope="module")
def node() -> Iterator[LiveNode]:
    node = LiveNode([foreseal_command(), "dev", "--port", "0"])
    yield node
    node.stop()


@pytest.fixture
def config(tmp_path: Path, node: LiveNode) -> Path:
    path = tmp_path / "pay.toml"
    path.write_text(
        f'[node]\nurl = "{node.url}"\nchain_id = {CHAIN_ID}\n[token]\naddress = "{PAYEE.address}"\n'
        f'[payee]\nkey_env = "PAYEE_KEY"\n[database]\nurl = "sqlite:///{tmp_path}/pay.db"\n'
    )
    return path


def store(config: Path, node: LiveNode, *calls: tuple[str, int, int]) -> None:
    """Store transactions to the own account: subject, gas limit and fee."""
    database = Database(f"sqlite:///{config.parent}/pay.db")
    with Client(node.url) as client:
        ledger = Ledger(database, lambda: int(time.time()))
        intents = TransactionIntents(CHAIN_ID, LocalSigner(PAYEE))
        sender = TransactionSender(ledger, RpcNode(client), intents, ConfirmationPolicy())
        for subject, gas, fee in calls:
            call = TransactionCall(PAYEE.address, b"\1", gas, FeeQuote(fee, fee), 0, 0)
            with database.transaction() as tx:
                intent = intents.store(tx, Purpose.PAYOUT, subject, call)
            sender.deliver(intent)
    database.close()


def test_listed_transactions_wait_for_the_first(config: Path, node: LiveNode) -> None:
    missing = foreseal("pay", "account", config, env=ENVIRONMENT)
    assert (missing.returncode, "pay.db does not exist" in missing.stderr) == (1, True)
    first = int(node.rpc("eth_getTransactionCount", PAYEE.address, "pending"), 16)
    # The account cannot pay the gas of the first one: the node rejects it for now.
    store(config, node, ("poor", 30_000, 10**21), ("behind", 30_000, 5 * GWEI))
    shown = foreseal("pay", "account", config, env=ENVIRONMENT)
    lines = shown.stdout.splitlines()
    assert lines[0] == (
        f"{PAYEE.address}: 2 open transactions, next account nonce {first} in the latest block, "
        f"{first} in the pending block"
    )
    assert lines[2].split()[:3] == [str(first), "payout", "poor"]
    assert "rejected since block" in lines[2]
    assert "insufficient funds" in lines[2]
    assert lines[3].endswith(f"waits for account nonce {first}")
    wrong = foreseal("pay", "account", config, "--free", first + 1, env=ENVIRONMENT)
    assert (wrong.returncode, "is not rejected: the node accepts it" in wrong.stderr) == (1, True)
    none = foreseal("pay", "account", config, "--free", first + 7, env=ENVIRONMENT)
    assert (none.returncode, "--free: no open transaction" in none.stderr) == (2, True)
    freed = foreseal("pay", "account", config, "--free", first, env=ENVIRONMENT)
    assert freed.returncode == 0, freed.stderr
    assert f"an empty transfer takes account nonce {first}" in freed.stderr
    node.rpc("evm_mine")
    assert int(node.rpc("eth_getTransactionCount", PAYEE.address, "latest"), 16) == first + 2
    after = foreseal("pay", "account", config, env=ENVIRONMENT)
    assert after.stdout.count("included, not final") == 2
