"""cast: `send`, `call`, `estimate`, `balance`, `block`, `receipt` and `logs --subscribe`."""

import json
import os
import subprocess
import threading
import time
from typing import Any

from eth_account import Account

from libraries.python.flows import KEY, SPENDER_KEY, contract, equal, run, until, watch_events
from libraries.python.foundry import called, cast, sent, start, stranger

GWEI = 10**9
# cast prints nothing when it has subscribed.
SUBSCRIPTION_SECONDS = 3.0
SOCKET_URL = os.environ["LIBRARY_SOCKET_URL"]
owner, spender = Account.from_key(KEY).address, Account.from_key(SPENDER_KEY).address


def deployed(name: str, argument: int) -> str:
    """Deploy a contract and wait for its receipt; return the address."""
    receipt = sent("--create", contract(name)[1], "constructor(uint256)", str(argument), key=KEY)
    return str(receipt["contractAddress"])


def prepared(name: str, argument: int) -> str:
    """Wait until the newest block that the library reads has the contract."""
    address = deployed(name, argument)
    until(lambda: cast("code", address) != "0x")
    return address


def deploy() -> Any:
    """Deploy, read, estimate, write, read."""

    def one() -> None:
        board = deployed("Board", 7)
        equal(called(board, "value()(uint256)"), 7, "value after deployment")
        arguments = (board, "set(uint256,string)", "8", "a note")
        gas = cast("estimate", *arguments, "--from", owner)
        sent(*arguments, "--gas-limit", gas, key=KEY)
        equal(called(board, "value()(uint256)"), 8, "value after the write")

    return one


def allowance() -> Any:
    """Approve, then transfer as the spender."""
    token = prepared("Token", 10**12)

    def one() -> None:
        to = stranger()
        sent(token, "approve(address,uint256)", spender, "5", key=KEY)
        sent(token, "transferFrom(address,address,uint256)", owner, to, "5", key=SPENDER_KEY)
        equal(called(token, "balanceOf(address)(uint256)", to), 5, "token balance")

    return one


def transfer() -> Any:
    """Transfer, then read balance and block."""

    def one() -> None:
        to = stranger()
        receipt = sent(to, "--value", "7", key=KEY)
        equal(int(cast("balance", to)), 7, "balance")
        block = json.loads(cast("block", str(int(receipt["blockNumber"], 16)), "--json"))
        equal(receipt["transactionHash"] in block["transactions"], True, "transaction in the block of the receipt")

    return one


def replacement() -> Any:
    """Replace a transaction by another one with its nonce."""

    def one() -> None:
        base = int(cast("base-fee"))
        nonce = cast("nonce", owner, "--block", "pending")
        waiting = (stranger(), "--value", "1", "--gas-limit", "21000", "--nonce", nonce)
        low = ("--gas-price", str(base // 64), "--priority-gas-price", "0")
        cast("send", *waiting, *low, "--private-key", KEY, "--async")
        paid = ("--gas-price", str(2 * base + GWEI), "--priority-gas-price", str(GWEI))
        receipt = sent(*waiting, *paid, key=KEY)
        equal(int(json.loads(cast("tx", receipt["transactionHash"], "--json"))["nonce"], 16), int(nonce), "nonce")

    return [one]


def events() -> Any:
    """Watch events by `cast logs --subscribe`."""
    board = prepared("Board", 7)

    def one() -> None:
        heard: list[str] = []
        watcher = start("cast", "logs", "--subscribe", "--address", board, url=SOCKET_URL)

        def read(process: "subprocess.Popen[str]") -> None:
            assert process.stdout is not None
            heard.extend(line.split()[1] for line in process.stdout if "transactionHash:" in line)

        reader = threading.Thread(target=read, args=(watcher,), daemon=True)
        reader.start()

        first = int(cast("nonce", owner, "--block", "pending"))

        # Without a nonce, `cast send` reads it at `latest`.
        def send(number: int) -> str:
            options = ("--gas-limit", "100000", "--nonce", str(first + number))
            arguments = (board, "set(uint256,string)", str(number), "event", *options)
            return cast("send", *arguments, "--private-key", KEY, "--async")

        def poll() -> list[str]:
            hashes = heard.copy()
            del heard[: len(hashes)]
            return hashes

        try:
            time.sleep(SUBSCRIPTION_SECONDS)
            watch_events(lambda: int(cast("block-number")), send, poll)
        finally:
            watcher.kill()

    return [one]


if __name__ == "__main__":
    run(
        {
            "deploy": deploy,
            "allowance": allowance,
            "transfer": transfer,
            "replacement": replacement,
            "events": events,
        }
    )
