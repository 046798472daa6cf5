"""Payments with a deadline, and their dependence on blocks and the clock."""

from typing import Any

import pytest
from chains import Chain, Deploy, send, wait
from web3 import Web3
from web3.contract import Contract

DAY = 86_400


@pytest.fixture
def till(deploy: Deploy, accounts: list[Any]) -> Contract:
    return deploy("Till", accounts[1])


AMOUNTS = [1, 500, 10**9, 10**18, 10**20]


@pytest.mark.parametrize("amount", AMOUNTS)
def test_a_payment_waits_in_the_till(w3: Web3, till: Contract, accounts: list[Any], amount: int) -> None:
    order = Web3.keccak(text="tea")
    send(w3, till.functions.pay(order, DAY), accounts[2], amount)
    assert till.functions.orders(order).call()[:2] == [accounts[2], amount]
    (paid,) = till.events.Paid().get_logs(from_block=0)
    assert dict(paid["args"]) == {"id": order, "buyer": accounts[2], "amount": amount}


@pytest.mark.parametrize("amount", AMOUNTS)
def test_confirming_pays_the_merchant(w3: Web3, till: Contract, accounts: list[Any], amount: int) -> None:
    order = Web3.keccak(text="tea")
    send(w3, till.functions.pay(order, DAY), accounts[2], amount)
    before = w3.eth.get_balance(accounts[1])
    send(w3, till.functions.confirm(order), accounts[2])
    assert w3.eth.get_balance(accounts[1]) == before + amount


@pytest.mark.parametrize("stranger", [0, 1, 3, 4])
def test_only_the_buyer_confirms(w3: Web3, till: Contract, accounts: list[Any], stranger: int) -> None:
    order = Web3.keccak(text="tea")
    send(w3, till.functions.pay(order, DAY), accounts[2], 5)
    with pytest.raises(Exception, match=r"(?s).+"):
        till.functions.confirm(order).call({"from": accounts[stranger]})


@pytest.mark.parametrize("days", [1, 2, 7, 30, 365])
def test_a_refund_waits_for_the_deadline(
    w3: Web3, chain: Chain, till: Contract, accounts: list[Any], days: int
) -> None:
    order = Web3.keccak(text="tea")
    send(w3, till.functions.pay(order, days * DAY), accounts[2], 10**18)
    with pytest.raises(Exception, match=r"(?s).+"):
        till.functions.refund(order).call({"from": accounts[0]})
    chain.advance(days * DAY + 1)
    chain.mine()
    before = w3.eth.get_balance(accounts[2])
    send(w3, till.functions.refund(order), accounts[0])
    assert w3.eth.get_balance(accounts[2]) == before + 10**18


@pytest.mark.parametrize("blocks", [1, 2, 3, 4, 5, 8])
def test_blocks_are_mined(w3: Web3, chain: Chain, blocks: int) -> None:
    before = w3.eth.block_number
    chain.mine(blocks)
    assert w3.eth.block_number == before + blocks
    newest = w3.eth.get_block("latest")
    assert newest["parentHash"] == w3.eth.get_block(newest["number"] - 1)["hash"]


@pytest.mark.parametrize("seconds", [1, 60, 3600, DAY, 30 * DAY])
def test_the_clock_moves(w3: Web3, chain: Chain, seconds: int) -> None:
    chain.mine()
    before = w3.eth.get_block("latest")["timestamp"]
    chain.advance(seconds)
    chain.mine()
    assert w3.eth.get_block("latest")["timestamp"] >= before + seconds


@pytest.mark.parametrize("value", [1, 2, 3, 4, 5, 10**18])
def test_a_block_shows_its_transaction(w3: Web3, accounts: list[Any], value: int) -> None:
    sent = w3.eth.send_transaction({"from": accounts[0], "to": accounts[1], "value": value})
    receipt = wait(w3, sent)
    block = w3.eth.get_block(receipt["blockNumber"], full_transactions=True)
    assert [(one["hash"], one["value"]) for one in block["transactions"]] == [(sent, value)]
    assert block["gasUsed"] == receipt["gasUsed"] == 21_000
