"""Balances, transfers and signing."""

from typing import Any

import pytest
from chains import ACCOUNTS, BALANCE, wait
from web3 import Web3

GWEI = 10**9


@pytest.mark.parametrize("index", range(ACCOUNTS))
def test_an_account_is_funded(w3: Web3, accounts: list[Any], index: int) -> None:
    assert w3.eth.get_balance(accounts[index]) == BALANCE
    assert w3.eth.get_transaction_count(accounts[index]) == 0


@pytest.mark.parametrize("amount", [1, 7, 1000, GWEI, 10**15, 10**18, 5 * 10**18, 123 * 10**18, 10**21, 9 * 10**21])
def test_a_transfer_arrives(w3: Web3, accounts: list[Any], amount: int) -> None:
    sender, receiver = accounts[0], accounts[1]
    wait(w3, w3.eth.send_transaction({"from": sender, "to": receiver, "value": amount}))
    assert w3.eth.get_balance(receiver) == BALANCE + amount


@pytest.mark.parametrize("index", range(10))
def test_the_sender_pays_the_gas(w3: Web3, accounts: list[Any], index: int) -> None:
    sender, receiver = accounts[index], accounts[(index + 3) % ACCOUNTS]
    transfer = {"from": sender, "to": receiver, "value": 10, "gas": 21_000, "maxFeePerGas": 10 * GWEI}
    receipt = wait(w3, w3.eth.send_transaction(transfer | {"maxPriorityFeePerGas": GWEI}))
    assert receipt["gasUsed"] == 21_000
    assert w3.eth.get_balance(sender) == BALANCE - 10 - 21_000 * receipt["effectiveGasPrice"]


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 6])
def test_a_nonce_counts_transactions(w3: Web3, accounts: list[Any], count: int) -> None:
    for _ in range(count):
        wait(w3, w3.eth.send_transaction({"from": accounts[2], "to": accounts[3], "value": 1}))
    assert w3.eth.get_transaction_count(accounts[2]) == count
    assert w3.eth.get_balance(accounts[3]) == BALANCE + count


KINDS = {
    "legacy": {"gasPrice": 10 * GWEI},
    "access list": {"gasPrice": 10 * GWEI, "accessList": [], "type": 1},
    "fee market": {"maxFeePerGas": 10 * GWEI, "maxPriorityFeePerGas": GWEI, "type": 2},
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("value", [1, 10**9, 10**18])
def test_transaction_signed_with_a_new_key_is_mined(w3: Web3, accounts: list[Any], kind: str, value: int) -> None:
    own = w3.eth.account.from_key("0x" + "42" * 32)
    wait(w3, w3.eth.send_transaction({"from": accounts[0], "to": own.address, "value": 2 * 10**18}))
    transfer = {"to": accounts[4], "value": value, "nonce": 0, "gas": 30_000, "chainId": w3.eth.chain_id}
    signed = own.sign_transaction(transfer | KINDS[kind])
    receipt = wait(w3, w3.eth.send_raw_transaction(signed.raw_transaction))
    assert receipt["from"] == own.address
    assert w3.eth.get_transaction(receipt["transactionHash"])["value"] == value
    assert w3.eth.get_balance(accounts[4]) == BALANCE + value
