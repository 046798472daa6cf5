"""A new user's first minute: the README's command, its banner, the proposed call, a growing block."""

import contextlib
import itertools
import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from eth_account import Account

from live import DEV_ACCOUNTS, LiveNode, in_one_block, wait_for
from live.accounts import dev_account, key_of
from live.blocks import pending_number
from live.process import FAST
from live.sending import Sender
from repository import ROOT

_ACCOUNT = re.compile(r"^ *(\d+) +(0x[0-9a-fA-F]{40}) +(0x[0-9a-f]{64}) *$", re.MULTILINE)
# A line, with its backslash continuations.
_CURL = re.compile(r"^ *curl (?:.*\\\n)*.*$", re.MULTILINE)


@contextlib.contextmanager
def make_run() -> Iterator[LiveNode]:
    """Run `make run`, without the build, which the tests themselves need first."""
    make = shutil.which("make")
    if make is None:
        pytest.skip("make is not on the PATH")
    arguments = " ".join(["--port 0", *FAST])
    node = LiveNode([make, "--old-file", "build", "run", f"ARGS={arguments}"], cwd=ROOT)
    try:
        yield node
        code = node.stop(child_of(node.process.pid))
        assert code == 0, f"`make run` ended with exit code {code} on SIGTERM:\n{node.printed}"
    finally:
        if node.process.poll() is None:
            node.kill()


def child_of(pid: int) -> int:
    """Return the only child of a process: the command that make runs."""
    (child,) = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return int(child)


@pytest.fixture(scope="module")
def node() -> Iterator[LiveNode]:
    with make_run() as node:
        yield node


def complete_banner(node: LiveNode) -> str:
    return wait_for(lambda: node.printed if "Ctrl-C" in node.printed else None, 10, "end of the banner")


def test_the_banner_shows_url_and_accounts(node: LiveNode) -> None:
    printed = complete_banner(node)
    accounts = _ACCOUNT.findall(printed)
    assert [int(index) for index, _, _ in accounts] == list(range(20))
    for index, address, key in accounts:
        expected = dev_account(int(index))
        assert (address, key) == (expected.address, key_of(expected))
        assert int(node.rpc("eth_getBalance", address, "earliest"), 16) == 10_000 * 10**18
    assert "temporary" in printed, "where the data goes must be said"


def test_the_printed_call_works_as_it_is(node: LiveNode) -> None:
    if shutil.which("curl") is None:
        pytest.skip("curl is not on the PATH")
    printed = complete_banner(node)
    match = _CURL.search(printed)
    assert match, f"no curl command in:\n{printed}"
    before = pending_number(node.rpc)
    run = subprocess.run(["sh", "-c", match[0]], capture_output=True, text=True, timeout=30, check=True)
    block = json.loads(run.stdout)["result"]
    assert before <= int(block["number"], 16) <= pending_number(node.rpc)
    assert re.fullmatch("0x[0-9a-f]{64}", block["hash"])


def test_the_pending_block_moves_while_its_number_stays(node: LiveNode) -> None:
    sender = Sender(node.rpc, DEV_ACCOUNTS[1])
    to = Account.create().address

    def watch(number: int) -> list[dict[str, Any]]:
        seen = [pending(node)]
        for _ in range(5):
            sent = sender.send(to=to, value=1)
            seen.append(wait_for(partial(with_transaction, node, sent), 3, "step with the transfer"))
        assert [int(block["number"], 16) for block in seen] == [number] * 6
        return seen

    seen = in_one_block(node.rpc, watch)
    for field in ("hash", "stateRoot", "receiptsRoot", "transactionsRoot"):
        values = [block[field] for block in seen]
        assert len(set(values)) == len(values), f"{field} did not change: {values}"
    assert [int(block["gasUsed"], 16) for block in seen] == [21000 * count for count in range(6)]
    for before, after in itertools.pairwise(seen):
        assert after["transactions"][:-1] == before["transactions"]
        assert after["parentHash"] == before["parentHash"]
        assert after["timestamp"] == before["timestamp"]
    number = seen[-1]["number"]
    sealed = wait_for(lambda: node.rpc("eth_getBlockByNumber", number, False), 10, f"sealed block {number}")
    assert sealed == seen[-1], "the last step is the sealed block"


def pending(node: LiveNode) -> dict[str, Any]:
    return dict(node.rpc("eth_getBlockByNumber", "pending", False))


def with_transaction(node: LiveNode, tx_hash: str) -> dict[str, Any] | None:
    """Return the pending block once this transaction is in it."""
    block = pending(node)
    return block if tx_hash in block["transactions"] else None
