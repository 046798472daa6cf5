"""A contract with every possible kind of call failure."""

from typing import Any

import pytest
from chains import Deploy, send, wait
from web3 import Web3
from web3.contract import Contract


@pytest.fixture
def board(deploy: Deploy) -> Contract:
    return deploy("Board", 100)


@pytest.mark.parametrize("value", [0, 1, 255, 256, 10**18, 2**128, 2**255, 2**256 - 1])
def test_constructor_stores_its_argument(deploy: Deploy, value: int) -> None:
    assert deploy("Board", value).functions.value().call() == value


@pytest.mark.parametrize("value", [0, 1, 2, 3, 99, 100, 101, 10**9, 2**64, 2**200])
def test_any_account_can_set_the_value(w3: Web3, board: Contract, accounts: list[Any], value: int) -> None:
    author = accounts[value % 10]
    receipt = send(w3, board.functions.set(value, f"to {value}"), author)
    assert board.functions.value().call() == value
    (event,) = board.events.ValueSet().process_receipt(receipt)
    assert dict(event["args"]) == {"author": author, "value": value, "previous": 100, "note": f"to {value}"}


@pytest.mark.parametrize("amount", [1, 10, 10**3, 10**9, 10**15, 10**18, 10**19, 10**21])
def test_board_accepts_ether(w3: Web3, board: Contract, accounts: list[Any], amount: int) -> None:
    send(w3, board.functions.pay(), accounts[4], amount)
    assert w3.eth.get_balance(board.address) == amount


@pytest.mark.parametrize("name", ["failWithReason", "failWithoutData"])
@pytest.mark.parametrize("caller", range(5))
def test_a_failing_call_changes_nothing(w3: Web3, board: Contract, accounts: list[Any], name: str, caller: int) -> None:
    with pytest.raises(Exception, match=r"(?s).+"):
        board.functions[name]().call({"from": accounts[caller]})
    assert board.functions.value().call() == 100


@pytest.mark.parametrize("offered", [0, 1, 2**32, 2**256 - 1])
def test_a_failing_transaction_has_a_receipt(w3: Web3, board: Contract, accounts: list[Any], offered: int) -> None:
    call = board.functions.failWithCustomError(offered)
    sent = call.transact({"from": accounts[1], "gas": 200_000})
    wait(w3, sent, status=0)
    assert board.functions.value().call() == 100
    assert w3.eth.get_transaction_count(accounts[1]) == 1


@pytest.mark.parametrize("divisor", [1, 2, 3, 7, 100, 101])
def test_the_board_divides(w3: Web3, board: Contract, accounts: list[Any], divisor: int) -> None:
    send(w3, board.functions.divide(divisor), accounts[0])
    assert board.functions.value().call() == 100 // divisor


@pytest.mark.parametrize("value", [1, 1000, 10**9, 10**18, 2**255])
def test_an_estimate_is_enough(w3: Web3, board: Contract, accounts: list[Any], value: int) -> None:
    call = board.functions.set(value, "estimated")
    gas = call.estimate_gas({"from": accounts[2]})
    sent = call.transact({"from": accounts[2], "gas": gas})
    receipt = wait(w3, sent)
    assert receipt["gasUsed"] <= gas


@pytest.mark.parametrize("value", [5, 6, 2**70, 2**250, 2**251])
def test_storage_holds_the_value(w3: Web3, board: Contract, accounts: list[Any], value: int) -> None:
    send(w3, board.functions.set(value, ""), accounts[0])
    assert int.from_bytes(w3.eth.get_storage_at(board.address, 0), "big") == value


@pytest.mark.parametrize("count", [2, 3, 4])
def test_boards_do_not_share_state(w3: Web3, deploy: Deploy, accounts: list[Any], count: int) -> None:
    boards = [deploy("Board", 50 + number) for number in range(count)]
    send(w3, boards[0].functions.set(7, "mine"), accounts[1])
    assert [one.functions.value().call() for one in boards] == [7, *range(51, 50 + count)]
    assert len({one.address for one in boards}) == count
