"""Tests of a project that depends only on `foreseal` and web3.py."""

from typing import Any

import pytest
from eth_typing import ChecksumAddress
from shop import DAY, Shop
from web3 import AsyncWeb3, Web3
from web3.exceptions import ContractCustomError, ContractLogicError
from web3.types import Wei

from foreseal.testing import Chain


@pytest.fixture
def merchant(foreseal: Chain) -> ChecksumAddress:
    return Web3.to_checksum_address(foreseal.accounts[1].address)


@pytest.fixture
def buyer(foreseal: Chain) -> ChecksumAddress:
    return Web3.to_checksum_address(foreseal.accounts[2].address)


@pytest.fixture
def shop(foreseal_w3: Web3, merchant: ChecksumAddress) -> Shop:
    return Shop.open(foreseal_w3, merchant)


def test_a_payment_waits_in_the_till(shop: Shop, buyer: ChecksumAddress) -> None:
    receipt = shop.pay("tea", 500, buyer)
    assert receipt["status"] == 1
    assert shop.paid("tea") == 500
    assert shop.payments() == [{"id": Web3.keccak(text="tea"), "buyer": buyer, "amount": 500}]


def test_no_state_of_other_tests_is_visible(shop: Shop, foreseal: Chain, foreseal_w3: Web3) -> None:
    assert shop.payments() == []
    assert foreseal_w3.eth.block_number == 1
    assert foreseal.time == foreseal.settings.time + 1


def test_confirming_pays_the_merchant(
    shop: Shop, foreseal_w3: Web3, buyer: ChecksumAddress, merchant: ChecksumAddress
) -> None:
    shop.pay("tea", 500, buyer)
    before = foreseal_w3.eth.get_balance(merchant)
    shop.confirm("tea", buyer)
    assert foreseal_w3.eth.get_balance(merchant) == before + 500
    assert shop.paid("tea") == 0


def test_only_the_buyer_confirms(shop: Shop, buyer: ChecksumAddress, merchant: ChecksumAddress) -> None:
    shop.pay("tea", 500, buyer)
    with pytest.raises(ContractLogicError, match="execution reverted"):
        shop.confirm("tea", merchant)


def test_a_refund_waits_for_the_deadline(
    shop: Shop, foreseal: Chain, foreseal_w3: Web3, buyer: ChecksumAddress
) -> None:
    shop.pay("tea", 500, buyer)
    with pytest.raises(ContractCustomError):
        shop.refund("tea")
    foreseal.advance(DAY)
    foreseal.mine()
    before = foreseal_w3.eth.get_balance(buyer)
    shop.refund("tea")
    assert foreseal_w3.eth.get_balance(buyer) == before + 500


def test_a_step_is_seen_on_pending_before_it_is_sealed(shop: Shop, foreseal: Chain, buyer: ChecksumAddress) -> None:
    foreseal.automine = False
    sent = shop.till.functions.pay(Web3.keccak(text="tea"), DAY).transact({"from": buyer, "value": Wei(7)})
    foreseal.step()
    assert (shop.paid("tea", "pending"), shop.paid("tea", "latest")) == (7, 0)
    preconfirmed = shop.w3.eth.get_transaction_receipt(sent)
    foreseal.mine()
    assert shop.paid("tea", "latest") == 7
    assert shop.w3.eth.get_transaction_receipt(sent) == preconfirmed


def test_transaction_signed_with_a_new_key_is_mined(foreseal: Chain, foreseal_w3: Web3) -> None:
    stranger = foreseal_w3.eth.account.create()
    foreseal.fund(stranger.address, 2)
    transfer: dict[str, Any] = {
        "to": foreseal.accounts[0].address,
        "value": 10**18,
        "nonce": 0,
        "gas": 21_000,
        "maxFeePerGas": 10**10,
        "maxPriorityFeePerGas": 1,
        "chainId": foreseal.settings.chain_id,
    }
    sent = foreseal_w3.eth.send_raw_transaction(stranger.sign_transaction(transfer).raw_transaction)
    assert foreseal_w3.eth.get_transaction_receipt(sent)["from"] == stranger.address
    signed = foreseal.accounts[3].signer().sign_transaction(transfer)
    assert foreseal_w3.eth.account.recover_transaction(signed.raw_transaction) == foreseal.accounts[3].address


def test_rollback_inside_a_test_restores_the_chain(shop: Shop, foreseal: Chain, buyer: ChecksumAddress) -> None:
    with foreseal.rollback():
        shop.pay("tea", 1, buyer)
        with foreseal.rollback():
            shop.confirm("tea", buyer)
        assert shop.paid("tea") == 1
    assert shop.paid("tea") == 0


def test_async_client_reads_the_chain(shop: Shop, foreseal_async_w3: AsyncWeb3[Any], buyer: ChecksumAddress) -> None:
    import asyncio

    async def balance() -> int:
        return int(await foreseal_async_w3.eth.get_balance(Web3.to_checksum_address(buyer)))

    before = asyncio.run(balance())
    shop.pay("tea", 500, buyer)
    assert asyncio.run(balance()) < before - 500
