"""web3.py's own module tests, which ship in its wheel, run unmodified over HTTP against a development node."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest
from web3 import Web3
from web3._utils.contract_sources.contract_data.emitter_contract import EMITTER_CONTRACT_DATA
from web3._utils.contract_sources.contract_data.math_contract import MATH_CONTRACT_DATA
from web3._utils.contract_sources.contract_data.offchain_lookup import OFFCHAIN_LOOKUP_DATA
from web3._utils.contract_sources.contract_data.panic_errors_contract import PANIC_ERRORS_CONTRACT_DATA
from web3._utils.contract_sources.contract_data.revert_contract import REVERT_CONTRACT_DATA
from web3._utils.contract_sources.contract_data.storage_contract import STORAGE_CONTRACT_DATA
from web3._utils.module_testing import EthModuleTest, GoEthereumTxPoolModuleTest, NetModuleTest, Web3ModuleTest
from web3._utils.module_testing.utils import RequestMocker
from web3.middleware import SignAndSendRawMiddlewareBuilder

from live import DEV_ACCOUNTS, LiveNode, live_node
from live.accounts import key_of
from live.blocks import in_one_block, wait_for_block

# The chain ID that the tests expect, from their original chain.
CHAIN_ID = 131277322940537
ACCOUNT = DEV_ACCOUNTS[0]
# Index in the emitter contract's list of events.
LOG_DOUBLE_WITH_INDEX = 9

PRECONFIRMED = "a transaction is in the next step, so it is neither unmined nor replaceable for long"
REASON = "spec.md: the message of an estimate that reverts is exactly `execution reverted`"
HASH = "spec.md: a pending block has a hash"
SEALED = "a receipt is answered before its block is sealed, and a number names sealed blocks only"
ENS = "the locked pyunormalize takes no list, which ens gives it; no request is made"
SIGNING = "not served: the execution API answers bytes, geth an object; the printed keys sign as well"
TYPED = "what is wrong is found by the node: an error of JSON-RPC, and no ValueError of the client"
SIGNER = "signed by the client: its signer refuses this form, and no request is made"

# Tests that fail, with the underlying difference.
DIFFERENCES = {
    "test_eth_estimate_gas_revert_with_msg": REASON,
    "test_eth_getBlockByHash_pending": HASH,
    "test_eth_get_code_ens_address": ENS,
    "test_eth_get_storage_at_ens_name": ENS,
    "test_eth_get_transaction_count_ens_name": ENS,
    "test_eth_sign_ens_names": ENS,
    "test_eth_sign_transaction_ens_names": ENS,
    "test_solidity_keccak_ens": ENS,
    "test_eth_get_balance_with_ens_name": ENS,
    "test_invalid_eth_sign_typed_data": TYPED,
    "test_eth_sign_transaction": SIGNING,
    "test_eth_sign_transaction_hex_fees": SIGNING,
    "test_eth_sign_transaction_legacy": SIGNING,
    "test_gas_price_from_strategy_bypassed_for_dynamic_fee_txn": SIGNER,
}

# Tests whose outcome depends on the time of the next step, without automine.
RACES = {
    "test_eth_call_old_contract_state": SEALED,
    "test_sign_authorization_send_raw_and_send_set_code_transactions": SEALED,
    "test_eth_get_transaction_receipt_unmined": PRECONFIRMED,
    "test_eth_wait_for_transaction_receipt_unmined": PRECONFIRMED,
    "test_eth_modify_transaction": PRECONFIRMED,
    "test_eth_modify_transaction_legacy": PRECONFIRMED,
    "test_eth_replace_transaction": PRECONFIRMED,
    "test_eth_replace_transaction_gas_price_defaulting_minimum": PRECONFIRMED,
    "test_eth_replace_transaction_gas_price_defaulting_strategy_higher": PRECONFIRMED,
    "test_eth_replace_transaction_gas_price_defaulting_strategy_lower": PRECONFIRMED,
    "test_eth_replace_transaction_legacy": PRECONFIRMED,
    "test_eth_replace_transaction_underpriced": PRECONFIRMED,
}

MINED = "a transaction is mined when the sending call returns, so it is neither unmined nor replaceable"

# Tests that fail under automine in addition, with the reason.
AUTOMINE_DIFFERENCES: dict[str, str] = {name: MINED for name, reason in RACES.items() if reason == PRECONFIRMED}


@pytest.fixture(scope="module", params=["interval", "automine"])
def mining(request: pytest.FixtureRequest) -> str:
    """Return each of the mining modes."""
    mode: str = request.param
    return mode


@pytest.fixture(scope="module")
def node(mining: str) -> Iterator[LiveNode]:
    mode = ["--automine"] if mining == "automine" else ["--block-time", "1s"]
    with live_node(*mode, "--chain-id", str(CHAIN_ID)) as node:
        yield node


@pytest.fixture(scope="module")
def w3(node: LiveNode) -> Web3:
    """Return a client that signs for the account itself, so the node needs no key.

    The chain has a priority fee by then.
    """
    w3 = Web3(Web3.HTTPProvider(node.url))
    w3.middleware_onion.inject(SignAndSendRawMiddlewareBuilder.build(ACCOUNT), layer=0)
    w3.eth.default_account = ACCOUNT.address
    # The first block is empty. Some tests query the first blocks of a chain that has run for a while.
    if node.rpc("anvil_getAutomine"):
        node.rpc("anvil_mine", "0x1")
    wait_for_block(node.rpc, 1)
    sealed(w3, node, w3.eth.send_transaction({"to": ACCOUNT.address}))
    node.rpc("anvil_mine", "0xa")
    return w3


@pytest.fixture(scope="module", autouse=True)
def first_log(txn_hash_with_log: Any) -> None:
    """The tests expect no log before their own."""


@pytest.fixture(autouse=True)
def no_strategy_stays(w3: Web3) -> Iterator[None]:
    yield
    w3.eth.set_gas_price_strategy(None)


@pytest.fixture(autouse=True)
def no_delegation_stays(node: LiveNode) -> Iterator[None]:
    """A test that ends at a known difference leaves its delegation in place, and others send to the account."""
    yield
    if node.rpc("eth_getCode", ACCOUNT.address, "pending") != "0x":
        node.rpc("anvil_setCode", ACCOUNT.address, "0x")
        node.rpc("anvil_mine", "0x1")


@pytest.fixture(autouse=True)
def known_difference(request: pytest.FixtureRequest, mining: str) -> None:
    name = request.node.originalname
    of_mode = (AUTOMINE_DIFFERENCES, True) if mining == "automine" else (RACES, False)
    for reasons, strict in ((DIFFERENCES, True), of_mode):
        if name in reasons:
            request.applymarker(pytest.mark.xfail(reason=reasons[name], strict=strict))


def sealed(w3: Web3, node: LiveNode, tx_hash: Any) -> Any:
    """Return the receipt of a transaction once its block is sealed."""
    receipt = w3.eth.wait_for_transaction_receipt(tx_hash, timeout=30, poll_latency=0.02)
    wait_for_block(node.rpc, receipt["blockNumber"])
    return w3.eth.get_transaction_receipt(tx_hash)


# Fixtures of web3.py's own integration tests.


@pytest.fixture(scope="module")
def math_contract_deploy_txn_hash(w3: Web3, node: LiveNode) -> Any:
    return deploy(w3, node, MATH_CONTRACT_DATA)[0]


@pytest.fixture(scope="module")
def math_contract(w3: Web3, math_contract_deploy_txn_hash: Any) -> Any:
    receipt = w3.eth.get_transaction_receipt(math_contract_deploy_txn_hash)
    return w3.eth.contract(address=receipt["contractAddress"], abi=MATH_CONTRACT_DATA["abi"])


@pytest.fixture(scope="module")
def math_contract_address(math_contract: Any) -> Any:
    return math_contract.address


@pytest.fixture(scope="module")
def emitter_contract(w3: Web3, node: LiveNode) -> Any:
    return deploy(w3, node, EMITTER_CONTRACT_DATA)[1]


@pytest.fixture(scope="module")
def emitter_contract_address(emitter_contract: Any) -> Any:
    return emitter_contract.address


@pytest.fixture(scope="module")
def storage_contract(w3: Web3, node: LiveNode) -> Any:
    return deploy(w3, node, STORAGE_CONTRACT_DATA)[1]


@pytest.fixture(scope="module")
def revert_contract(w3: Web3, node: LiveNode) -> Any:
    return deploy(w3, node, REVERT_CONTRACT_DATA)[1]


@pytest.fixture(scope="module")
def panic_errors_contract(w3: Web3, node: LiveNode) -> Any:
    return deploy(w3, node, PANIC_ERRORS_CONTRACT_DATA)[1]


@pytest.fixture(scope="module")
def offchain_lookup_contract(w3: Web3, node: LiveNode) -> Any:
    return deploy(w3, node, OFFCHAIN_LOOKUP_DATA)[1]


@pytest.fixture(scope="module")
def mined_txn_hash(w3: Web3, node: LiveNode) -> Any:
    tx_hash = w3.eth.send_transaction({"to": DEV_ACCOUNTS[1].address, "value": Web3.to_wei(1, "wei")})
    return sealed(w3, node, tx_hash)["transactionHash"].to_0x_hex()


@pytest.fixture(scope="module")
def block_with_txn(w3: Web3, mined_txn_hash: Any) -> Any:
    return w3.eth.get_block(w3.eth.get_transaction(mined_txn_hash)["blockNumber"])


@pytest.fixture(scope="module")
def txn_hash_with_log(w3: Web3, node: LiveNode, emitter_contract: Any) -> Any:
    """Send until it is the first transaction of its block, as the tests expect."""
    log = emitter_contract.functions.logDouble(which=LOG_DOUBLE_WITH_INDEX, arg0=12345, arg1=54321)
    while (receipt := sealed(w3, node, log.transact()))["transactionIndex"] != 0:
        pass
    return receipt["transactionHash"].to_0x_hex()


@pytest.fixture(scope="module")
def block_with_txn_with_log(w3: Web3, txn_hash_with_log: Any) -> Any:
    return w3.eth.get_block(w3.eth.get_transaction(txn_hash_with_log)["blockNumber"])


@pytest.fixture(scope="module")
def empty_block(w3: Web3) -> Any:
    return w3.eth.get_block(1)


@pytest.fixture(scope="module")
def keyfile_account_pkey() -> str:
    return key_of(ACCOUNT)


@pytest.fixture(scope="module")
def keyfile_account_address() -> Any:
    return ACCOUNT.address


@pytest.fixture(scope="module")
def keyfile_account_address_dual_type() -> Any:
    return ACCOUNT.address


@pytest.fixture
def skip_if_testrpc() -> Callable[[Web3], None]:
    return lambda w3: None


@pytest.fixture
def request_mocker() -> type[RequestMocker]:
    return RequestMocker


def deploy(w3: Web3, node: LiveNode, data: Any) -> tuple[Any, Any]:
    """Return hash of the deployment and the contract, once its block is sealed."""
    receipt = sealed(w3, node, w3.eth.contract(**data).constructor().transact())
    contract = w3.eth.contract(address=receipt["contractAddress"], abi=data["abi"])
    return receipt["transactionHash"].to_0x_hex(), contract


class TestNetModule(NetModuleTest):
    pass


class TestTxPoolModule(GoEthereumTxPoolModuleTest):
    pass


class TestEthModule(EthModuleTest):
    def test_eth_getBlockByNumber_pending(  # type: ignore[override]
        self, w3: Web3, empty_block: Any, node: LiveNode, mining: str
    ) -> None:
        """Run web3.py's test within one block: it reads the newest and the pending block by two requests."""
        run = partial(EthModuleTest.test_eth_getBlockByNumber_pending, self, w3, empty_block)
        if mining == "automine":
            run()
        else:
            in_one_block(node.rpc, lambda _: run())

    def test_eth_new_filter(self, w3: Web3, node: LiveNode) -> None:  # type: ignore[override]
        """Run web3.py's test at an empty block, since it expects no log there."""
        node.rpc("anvil_mine", "0x2")
        super().test_eth_new_filter(w3)


class TestWeb3Module(Web3ModuleTest):
    def _check_web3_client_version(self, client_version: str) -> None:
        assert client_version.startswith("anvil-compatible/foreseal/v")
