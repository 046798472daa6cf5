"""web3.py, versions 7 and 8."""

import asyncio
import os
import threading
from typing import Any

from eth_account import Account
from web3 import AsyncWeb3, HTTPProvider, Web3, WebSocketProvider
from web3.middleware import SignAndSendRawMiddlewareBuilder
from web3.types import Wei

from libraries.python.flows import KEY, SPENDER_KEY, URL, contract, equal, run, until, watch_events
from libraries.python.restart import named, watch_restart

GWEI = 10**9

w3 = Web3(HTTPProvider(URL))
account, spender = Account.from_key(KEY), Account.from_key(SPENDER_KEY)
for each in (account, spender):
    w3.middleware_onion.inject(SignAndSendRawMiddlewareBuilder.build(each), layer=0)
w3.eth.default_account = account.address


def mined(sent: Any) -> Any:
    """Wait for the receipt of a successful transaction."""
    receipt = w3.eth.wait_for_transaction_receipt(sent)
    equal(receipt["status"], 1, "status")
    return receipt


def deployed(name: str, *arguments: Any) -> Any:
    """Deploy a contract and wait for its receipt."""
    abi, bytecode = contract(name)
    receipt = mined(w3.eth.contract(abi=abi, bytecode=bytecode).constructor(*arguments).transact())
    return w3.eth.contract(address=receipt["contractAddress"], abi=abi)


def prepared(name: str, *arguments: Any) -> Any:
    """Wait until the newest block that the library reads has the contract."""
    made = deployed(name, *arguments)
    until(lambda: w3.eth.get_code(made.address))
    return made


def deploy() -> Any:
    """Deploy, read, write, read."""

    def one() -> None:
        board = deployed("Board", 7)
        equal(board.functions.value().call(), 7, "value after deployment")
        mined(board.functions.set(8, "a note").transact())
        equal(board.functions.value().call(), 8, "value after the write")

    return one


def allowance() -> Any:
    """Approve, then transfer as the spender."""
    token = prepared("Token", 10**12)

    def one() -> None:
        to = Account.create().address
        mined(token.functions.approve(spender.address, 5).transact())
        mined(token.functions.transferFrom(account.address, to, 5).transact({"from": spender.address}))
        equal(token.functions.balanceOf(to).call(), 5, "token balance")

    return one


def transfer() -> Any:
    """Transfer, then read balance and block."""

    def one() -> None:
        to = Account.create().address
        receipt = mined(w3.eth.send_transaction({"to": to, "value": Wei(7)}))
        equal(w3.eth.get_balance(to), 7, "balance")
        block = w3.eth.get_block(receipt["blockNumber"])
        equal(receipt["transactionHash"] in block["transactions"], True, "transaction in the block of the receipt")

    return one


def confirmations() -> Any:
    """Wait until the block number has passed that of the receipt; the library has no wait of its own."""

    def wait(count: int) -> None:
        receipt = mined(w3.eth.send_transaction({"to": account.address, "value": Wei(0)}))
        until(lambda: w3.eth.block_number - receipt["blockNumber"] + 1 >= count)
        confirmed = w3.eth.get_transaction_receipt(receipt["transactionHash"])
        equal(confirmed["blockHash"], receipt["blockHash"], "block hash of the confirmed receipt")

    return [lambda: wait(1), lambda: wait(2)]


def replacement() -> Any:
    """Replace a transaction by `replace_transaction`."""

    def one() -> None:
        base = w3.eth.get_block("latest")["baseFeePerGas"]
        nonce = w3.eth.get_transaction_count(account.address, "pending")
        to = Account.create().address
        waiting = {"from": account.address, "to": to, "value": 1, "gas": 21000, "nonce": nonce}
        first = w3.eth.send_transaction({**waiting, "maxFeePerGas": base // 64, "maxPriorityFeePerGas": 0})  # type: ignore[typeddict-item]
        paid = {**waiting, "maxFeePerGas": 2 * base + GWEI, "maxPriorityFeePerGas": GWEI}
        second = w3.eth.replace_transaction(first, paid)  # type: ignore[arg-type]
        equal(mined(second)["transactionHash"], second, "hash of the receipt")

    return [one]


def events() -> Any:
    """Watch events by a filter of the contract."""
    board = prepared("Board", 7)

    def one() -> None:
        filter = board.events.ValueSet.create_filter(from_block="latest")
        before = {event["transactionHash"].hex() for event in filter.get_new_entries()}

        def send(number: int) -> str:
            return str(board.functions.set(number, "event").transact({"gas": 100_000}).hex())

        def poll() -> list[str]:
            hashes = [event["transactionHash"].hex() for event in filter.get_new_entries()]
            return [each for each in hashes if each not in before]

        watch_events(lambda: w3.eth.block_number, send, poll)

    return [one]


def restart() -> Any:
    """Watch events by a filter of the contract, and by a subscription that the program does not renew."""
    board = prepared("Board", 7)

    def send(number: int) -> str:
        return str(board.functions.set(number, "event").transact({"gas": 100_000}).hex())

    def polling() -> None:
        filter = board.events.ValueSet.create_filter(from_block="latest")
        before = {event["transactionHash"].hex() for event in filter.get_new_entries()}

        def poll() -> list[str]:
            hashes = [event["transactionHash"].hex() for event in filter.get_new_entries()]
            return [each for each in hashes if each not in before]

        watch_restart(send, poll)

    def socket() -> None:
        heard: list[str] = []
        errors: list[str] = []
        is_subscribed = threading.Event()

        async def listen() -> None:
            async with AsyncWeb3(WebSocketProvider(os.environ["LIBRARY_SOCKET_URL"])) as streams:
                await streams.eth.subscribe("logs", {"address": board.address})
                is_subscribed.set()
                async for message in streams.socket.process_subscriptions():
                    # `poll` reads each element while the iteration continues.
                    heard.append(message["result"]["transactionHash"].hex())  # noqa: PERF401

        def run_loop() -> None:
            try:
                asyncio.run(listen())
                errors.append("the iteration ended")
            except Exception as error:
                errors.append(f"{type(error).__name__}: {error}")

        def poll() -> list[str]:
            hashes = heard.copy()
            del heard[: len(hashes)]
            return hashes

        threading.Thread(target=run_loop, daemon=True).start()
        is_subscribed.wait(10)
        try:
            watch_restart(send, poll)
        except AssertionError as error:
            raise AssertionError(f"{error}; errors of the listener: {errors}") from error

    return [named("polling", polling), named("WebSocket", socket)]


if __name__ == "__main__":
    run(
        {
            "deploy": deploy,
            "allowance": allowance,
            "transfer": transfer,
            "confirmations": confirmations,
            "replacement": replacement,
            "events": events,
            "restart": restart,
        }
    )
