"""An ERC-20 token: calls, transactions, events, errors."""

from typing import Any

import pytest
from chains import Deploy, send, wait
from web3 import Web3
from web3.contract import Contract

SUPPLY = 10**12


@pytest.fixture
def token(deploy: Deploy) -> Contract:
    return deploy("Token", SUPPLY)


AMOUNTS = [1, 2, 9, 77, 1000, 65_536, 10**6, 10**9, 10**11, SUPPLY]


@pytest.mark.parametrize(
    ("name", "value"),
    [("name", "Test Dollar"), ("symbol", "TUSD"), ("decimals", 6), ("totalSupply", SUPPLY)],
)
def test_token_metadata_matches_the_constructor(token: Contract, name: str, value: Any) -> None:
    assert token.functions[name]().call() == value


@pytest.mark.parametrize("amount", AMOUNTS)
def test_tokens_move(w3: Web3, token: Contract, accounts: list[Any], amount: int) -> None:
    send(w3, token.functions.transfer(accounts[1], amount), accounts[0])
    assert token.functions.balanceOf(accounts[1]).call() == amount
    assert token.functions.balanceOf(accounts[0]).call() == SUPPLY - amount


@pytest.mark.parametrize("amount", AMOUNTS)
def test_an_allowance_is_spent(w3: Web3, token: Contract, accounts: list[Any], amount: int) -> None:
    owner, spender, receiver = accounts[0], accounts[5], accounts[6]
    send(w3, token.functions.approve(spender, amount), owner)
    assert token.functions.allowance(owner, spender).call() == amount
    send(w3, token.functions.transferFrom(owner, receiver, amount), spender)
    assert token.functions.balanceOf(receiver).call() == amount
    assert token.functions.allowance(owner, spender).call() == 0


@pytest.mark.parametrize("amount", [1, 5, 10**6, SUPPLY, SUPPLY + 1, 2**64, 2**128, 2**256 - 1])
def test_transfer_without_balance_reverts(w3: Web3, token: Contract, accounts: list[Any], amount: int) -> None:
    # The error messages differ; on every chain the call fails and nothing moves.
    with pytest.raises(Exception, match=r"(?s).+"):
        token.functions.transfer(accounts[1], amount).call({"from": accounts[7]})
    assert token.functions.balanceOf(accounts[1]).call() == 0


@pytest.mark.parametrize("amount", AMOUNTS)
def test_an_event_is_in_the_receipt(w3: Web3, token: Contract, accounts: list[Any], amount: int) -> None:
    receipt = send(w3, token.functions.transfer(accounts[2], amount), accounts[0])
    (event,) = token.events.Transfer().process_receipt(receipt)
    assert dict(event["args"]) == {"from": accounts[0], "to": accounts[2], "value": amount}


@pytest.mark.parametrize("receiver", range(1, 9))
def test_logs_are_found_by_receiver(w3: Web3, token: Contract, accounts: list[Any], receiver: int) -> None:
    for other in (receiver, receiver % 8 + 1):
        send(w3, token.functions.transfer(accounts[other], 100 + other), accounts[0])
    logs = token.events.Transfer().get_logs(from_block=0, argument_filters={"to": accounts[receiver]})
    assert [log["args"]["value"] for log in logs] == [100 + receiver]


@pytest.mark.parametrize("amount", [3, 30, 300, 3000, 30_000])
def test_filter_returns_new_logs(w3: Web3, token: Contract, accounts: list[Any], amount: int) -> None:
    events = token.events.Transfer.create_filter(from_block="latest")
    send(w3, token.functions.transfer(accounts[3], amount), accounts[0])
    assert [event["args"]["value"] for event in events.get_new_entries()][-1:] == [amount]
    assert events.get_new_entries() == []


@pytest.mark.parametrize("amount", [4, 40, 400, 4000, 40_000])
def test_a_built_transaction_is_signed_and_sent(w3: Web3, token: Contract, accounts: list[Any], amount: int) -> None:
    own = w3.eth.account.from_key("0x" + "43" * 32)
    wait(w3, w3.eth.send_transaction({"from": accounts[0], "to": own.address, "value": 10**18}))
    send(w3, token.functions.transfer(own.address, amount), accounts[0])
    built = token.functions.transfer(accounts[8], amount).build_transaction({"from": own.address, "nonce": 0})
    sent = w3.eth.send_raw_transaction(own.sign_transaction(built).raw_transaction)
    wait(w3, sent)
    assert token.functions.balanceOf(accounts[8]).call() == amount
