"""titanoboa; it has no watchers and no wait for confirmations."""

import os
import tempfile
from typing import Any

# It caches the state of a chain in the home folder, by chain ID and block number only.
os.environ["HOME"] = tempfile.mkdtemp(prefix="titanoboa-")

import boa
from eth_account import Account

from libraries.python.flows import KEY, SPENDER_KEY, URL, equal, run
from libraries.python.vyper_contracts import BOARD, TOKEN

boa.set_network_env(URL)
account, spender = Account.from_key(KEY), Account.from_key(SPENDER_KEY)
boa.env.add_account(account, force_eoa=True)
boa.env.add_account(spender)


def deploy() -> Any:
    """Deploy, read, write, read."""

    def one() -> None:
        board = boa.loads(BOARD, 7)
        equal(board.value(), 7, "value after deployment")
        board.set(8, "a note")
        equal(board.value(), 8, "value after the write")

    return one


def allowance() -> Any:
    """Approve, then transfer as the spender."""
    token = boa.loads(TOKEN, 10**12)

    def one() -> None:
        to = Account.create().address
        token.approve(spender.address, 5)
        token.transferFrom(account.address, to, 5, sender=spender.address)
        equal(token.balanceOf(to), 5, "token balance")

    return one


def transfer() -> Any:
    """Transfer, then read the balance."""

    def one() -> None:
        to = Account.create().address
        boa.env.execute_code(to, value=7)
        equal(boa.env.get_balance(to), 7, "balance")

    return one


if __name__ == "__main__":
    run({"deploy": deploy, "allowance": allowance, "transfer": transfer})
