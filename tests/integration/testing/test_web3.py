"""web3.py on a test chain: its requests and its errors."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from web3 import Web3
from web3.exceptions import ContractCustomError, ContractLogicError, Web3RPCError

from foreseal.testing import Chain, ChainSettings
from foreseal.testing.web3 import connect, connect_async
from repository import SUPPORT

CONTRACTS = SUPPORT / "contracts"
GWEI = 10**9


@pytest.fixture
def chain() -> Iterator[Chain]:
    with Chain(ChainSettings(accounts=3)) as chain:
        yield chain


@pytest.fixture
def requested(chain: Chain, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return a list that records every requested method."""
    methods: list[str] = []
    answer = chain.request

    def request(method: str, params: Any) -> dict[str, Any]:
        methods.append(method)
        return answer(method, params)

    monkeypatch.setattr(chain, "request", request)
    return methods


def deploy_board(w3: Any) -> Any:
    artifact = json.loads((CONTRACTS / "Board.json").read_text())
    factory = w3.eth.contract(abi=artifact["abi"], bytecode=artifact["bytecode"])
    receipt = w3.eth.get_transaction_receipt(factory.constructor(1).transact())
    return w3.eth.contract(receipt["contractAddress"], abi=artifact["abi"])


def test_sending_makes_one_chain_request(chain: Chain, requested: list[str]) -> None:
    w3 = connect(chain)
    sent = w3.eth.send_transaction({"to": chain.accounts[1].address, "value": 5})
    assert requested == ["eth_sendTransaction"]
    transaction = w3.eth.get_transaction(sent)
    assert (transaction["from"], transaction["type"], transaction["gas"]) == (chain.accounts[0].address, 2, 21_000)
    assert w3.eth.accounts == [account.address for account in chain.accounts]


def test_every_funded_account_sends(chain: Chain) -> None:
    w3 = connect(chain)
    for number, account in enumerate(chain.accounts):
        sent = w3.eth.send_transaction({"from": account.address, "to": account.address, "nonce": 0})
        assert w3.eth.get_transaction_receipt(sent)["blockNumber"] == number + 1
    with pytest.raises(Web3RPCError):
        w3.eth.send_transaction({"from": w3.eth.account.create().address})


def test_a_gas_price_strategy_is_followed(chain: Chain) -> None:
    w3 = connect(chain)
    w3.eth.set_gas_price_strategy(lambda _w3, _transaction: Web3.to_wei(7, "gwei"))
    sent = w3.eth.send_transaction({"to": chain.accounts[1].address})
    transaction = w3.eth.get_transaction(sent)
    assert (transaction["type"], transaction["gasPrice"]) == (0, 7 * GWEI)


def test_sending_a_revert_raises_the_error_of_its_estimate(chain: Chain) -> None:
    board = deploy_board(connect(chain))
    with pytest.raises(ContractCustomError) as custom:
        board.functions.failWithCustomError(7).transact()
    with pytest.raises(ContractCustomError) as estimated:
        board.functions.failWithCustomError(7).estimate_gas()
    assert custom.value.data == estimated.value.data
    with pytest.raises(ContractLogicError, match="execution reverted"):
        board.functions.failWithReason().transact()
    assert board.w3.eth.get_transaction_count(chain.accounts[0].address) == 1


def test_async_client_raises_the_same_error(chain: Chain) -> None:
    board = deploy_board(connect(chain))
    w3 = connect_async(chain)
    failing = {"to": board.address, "data": board.encode_abi("failWithoutData")}

    async def fail() -> None:
        await w3.eth.send_transaction(failing)

    with pytest.raises(ContractLogicError):
        asyncio.run(fail())


def test_accounts_of_a_genesis_file_sign_in_python(tmp_path: Path) -> None:
    """The chain has no keys then: web3.py signs with those of the mnemonic."""
    with Chain(ChainSettings(accounts=1)) as chain:
        account = chain.accounts[0].address
    file = tmp_path / "genesis.json"
    forks = ["homestead", "eip150", "eip155", "eip158", "byzantium", "constantinople", "petersburg", "istanbul"]
    config = {f"{fork}Block": 0 for fork in [*forks, "berlin", "london"]} | {"chainId": 4242}
    config |= {"terminalTotalDifficulty": 0, "shanghaiTime": 0}
    alloc = {account: {"balance": hex(10**20)}}
    file.write_text(json.dumps({"config": config, "alloc": alloc, "gasLimit": "0x1c9c380", "difficulty": "0x0"}))
    with Chain(ChainSettings(accounts=1, chain_id=4242, genesis=file)) as chain:
        w3 = connect(chain)
        sent = w3.eth.send_transaction({"to": account, "value": 1})
        assert w3.eth.get_transaction_receipt(sent)["from"] == account
        assert w3.eth.chain_id == 4242
