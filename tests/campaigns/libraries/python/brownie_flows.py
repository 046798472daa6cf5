"""eth-brownie, without a project: contracts are deployed by `transfer`, and used by `Contract.from_abi`."""
# ruff: noqa: E402 - the library reads its folder when it is imported.

import json
import os
import tempfile
from pathlib import Path
from typing import Any

# Networks and caches of this run only.
os.environ["HOME"] = tempfile.mkdtemp(prefix="brownie-")
settings = Path(os.environ["HOME"]) / ".brownie"
settings.mkdir()
entry = {"id": "foreseal", "name": "Foreseal", "chainid": 31337, "host": os.environ["FORESEAL_URL"]}
# JSON is YAML.
(settings / "network-config.yaml").write_text(
    json.dumps({"live": [{"name": "Foreseal", "networks": [entry]}], "development": []})
)

from brownie import Contract, accounts, chain, network, web3
from eth_abi.abi import encode
from eth_account import Account

from libraries.python.flows import KEY, SPENDER_KEY, contract, equal, run, until, watch_events

GWEI = 10**9


def stranger() -> str:
    """Return a new address."""
    return str(Account.create().address)


def deployed(name: str, argument: int) -> Any:
    """Deploy a contract, wait for its receipt, and return its binding."""
    abi, bytecode = contract(name)
    receipt = owner.transfer(data=bytecode + encode(["uint256"], [argument]).hex(), silent=True)
    return Contract.from_abi(name, receipt.contract_address, abi)


def prepared(name: str, argument: int) -> Any:
    """Wait until the newest block that the library reads has the contract."""
    abi, bytecode = contract(name)
    receipt = owner.transfer(data=bytecode + encode(["uint256"], [argument]).hex(), silent=True)
    until(lambda: web3.eth.get_code(receipt.contract_address))
    return Contract.from_abi(name, receipt.contract_address, abi)


def deploy() -> Any:
    """Deploy, read, write, read."""

    def one() -> None:
        board = deployed("Board", 7)
        equal(board.value(), 7, "value after deployment")
        board.set(8, "a note", {"from": owner})
        equal(board.value(), 8, "value after the write")

    return one


def allowance() -> Any:
    """Approve, then transfer as the spender."""
    token = prepared("Token", 10**12)

    def one() -> None:
        to = stranger()
        token.approve(spender, 5, {"from": owner})
        token.transferFrom(owner, to, 5, {"from": spender})
        equal(token.balanceOf(to), 5, "token balance")

    return one


def transfer() -> Any:
    """Transfer, then read balance and block."""

    def one() -> None:
        to = stranger()
        receipt = owner.transfer(to, 7, silent=True)
        equal(web3.eth.get_balance(to), 7, "balance")
        hashes = [each.to_0x_hex() for each in web3.eth.get_block(receipt.block_number)["transactions"]]
        equal(receipt.txid in hashes, True, "transaction in the block of the receipt")

    return one


def confirmations() -> Any:
    """Wait by the option of a transaction."""

    def wait(count: int) -> None:
        receipt = owner.transfer(owner, 1, required_confs=count, silent=True)
        depth = web3.eth.block_number - receipt.block_number + 1
        if count > 1:
            equal(depth >= count, True, f"{depth} confirmations, enough")

    return [lambda: wait(1), lambda: wait(2)]


def replacement() -> Any:
    """Replace a transaction by `replace`."""

    def one() -> None:
        base = chain.base_fee
        first = owner.transfer(stranger(), 1, gas_price=base // 64, required_confs=0, silent=True)
        second = first.replace(gas_price=2 * base + GWEI, silent=True)
        second.wait(1)
        equal(second.status, 1, "status of the replacement")

    return [one]


def events() -> Any:
    """Watch events by `events.subscribe`, which polls."""
    board = prepared("Board", 7)

    def one() -> None:
        heard: list[str] = []
        board.events.subscribe("ValueSet", callback=lambda event: heard.append(event["transactionHash"].to_0x_hex()))

        def send(number: int) -> str:
            options = {"from": owner, "gas_limit": 100_000, "required_confs": 0, "silent": True}
            return str(board.set(number, "event", options).txid)

        def poll() -> list[str]:
            hashes = heard.copy()
            del heard[: len(hashes)]
            return hashes

        watch_events(lambda: int(web3.eth.block_number), send, poll)

    return [one]


if __name__ == "__main__":
    network.connect("foreseal")
    owner, spender = accounts.add(KEY), accounts.add(SPENDER_KEY)
    run(
        {
            "deploy": deploy,
            "allowance": allowance,
            "transfer": transfer,
            "confirmations": confirmations,
            "replacement": replacement,
            "events": events,
        }
    )
