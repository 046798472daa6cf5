"""The payment contracts of a development chain: in this process, and of `foreseal dev --payments`."""

import re
from collections.abc import Iterator

import pytest
from eth_account import Account
from eth_utils import to_checksum_address

from foreseal.payments.chain.batch_capture import batch_capture_call, captured_in_batch
from foreseal.payments.contracts import addresses, load
from foreseal.payments.contracts.development import (
    BATCH_CAPTURE,
    CHECKOUT,
    FUNDS,
    NAME,
    PAYOUTS,
    TOKEN,
    VERSION,
    DevelopmentContracts,
)
from foreseal.payments.contracts.token import domain_separator
from foreseal.payments.testing import development_contracts, with_payments
from foreseal.payments.typed_data import Domain, ReceiveAuthorization, random_nonce
from foreseal.testing import Chain, ChainSettings
from live import DEV_ACCOUNTS, live_node, wait_for
from payments.contracts.batches import chain_receipt
from payments.contracts.onchain import OnChain

ADDRESSES = [account.address for account in DEV_ACCOUNTS]
FIXED = [getattr(addresses, name) for name in dir(addresses) if name.isupper() and name != "TOKENS"]


@pytest.fixture(scope="module", params=[31337, 84532])
def development(request: pytest.FixtureRequest) -> Iterator[Chain]:
    with Chain(with_payments(ChainSettings(chain_id=request.param))) as chain:
        yield chain


def test_development_accounts_and_contracts_have_their_roles_and_addresses(development: Chain) -> None:
    people = development_contracts(development.settings)
    assert [people.issuer, people.merchant, people.facilitator, *people.buyers] == ADDRESSES[:10]
    token = OnChain(development, TOKEN, load("PaymentToken").abi)
    assert [token.call("balanceOf", each) for each in ADDRESSES[:10]] == [0] * 3 + [FUNDS] * 7
    assert (token.call("name"), token.call("version"), token.call("owner")) == (NAME, VERSION, ADDRESSES[0].lower())
    chain_id = development.settings.chain_id
    assert token.call("DOMAIN_SEPARATOR") == "0x" + domain_separator(NAME, VERSION, chain_id, TOKEN).hex()
    checkout = OnChain(development, CHECKOUT, load("Checkout").abi)
    assert (checkout.call("token"), checkout.call("merchant")) == (TOKEN.lower(), ADDRESSES[1].lower())
    assert OnChain(development, PAYOUTS, load("Payouts").abi).call("token") == TOKEN.lower()
    batches = OnChain(development, BATCH_CAPTURE, load("BatchCapture").abi)
    assert (batches.call("token"), batches.call("merchant")) == (TOKEN.lower(), ADDRESSES[1].lower())
    assert len(FIXED) == 7
    assert all(len(development.rpc("eth_getCode", each, "latest")) > 1000 for each in FIXED)
    own = [TOKEN, CHECKOUT, PAYOUTS, BATCH_CAPTURE]
    assert [to_checksum_address(each) for each in own] == own


def test_any_account_can_transfer_and_the_issuer_can_mint(development: Chain) -> None:
    token = OnChain(development, TOKEN, load("PaymentToken").abi)
    issuer, merchant, _, buyer = ADDRESSES[:4]
    with development.rollback():
        token.send(buyer, "transfer", merchant, 5)
        token.send(issuer, "mint", merchant, 7)
        token.send(issuer, "blacklist", buyer)
        assert (token.call("balanceOf", merchant), token.call("isBlacklisted", buyer)) == (12, True)


def test_the_merchant_captures_a_batch(development: Chain) -> None:
    """With the package's own client: messages, call data, and the proof in the receipt."""
    domain = Domain(NAME, VERSION, development.settings.chain_id, TOKEN)
    token, merchant = OnChain(development, TOKEN, load("PaymentToken").abi), ADDRESSES[1]
    messages = [
        ReceiveAuthorization(account.address, BATCH_CAPTURE, 10 + index, 0, 2_000_000_000, random_nonce())
        for index, account in enumerate(DEV_ACCOUNTS[3:6])
    ]
    signatures = [
        message.sign(domain, account.key) for message, account in zip(messages, DEV_ACCOUNTS[3:6], strict=True)
    ]
    signatures[1] = signatures[0]
    with development.rollback():
        contract = OnChain(development, BATCH_CAPTURE, load("BatchCapture").abi)
        sent = contract.send_data(merchant, batch_capture_call(messages, signatures))
        outcome = captured_in_batch(chain_receipt(development, sent), TOKEN, BATCH_CAPTURE, merchant)
        assert list(outcome.captured) == [(messages[at].payer, messages[at].nonce) for at in (0, 2)]
        (failed,) = outcome.failed.values()
        assert (failed.payer, failed.nonce) == (messages[1].payer, messages[1].nonce)
        assert failed.reason == "FiatTokenV2: invalid signature"
        assert (outcome.amount, token.call("balanceOf", merchant)) == (22, 22)


def test_too_few_accounts_are_rejected() -> None:
    assert DevelopmentContracts.from_accounts(ADDRESSES[:4]).buyers == (ADDRESSES[3],)
    with pytest.raises(ValueError, match="require 4 accounts, got 3"):
        with_payments(ChainSettings(accounts=3))


def test_the_banner_lists_contracts_and_roles() -> None:
    with live_node("--payments", "--chain-id", "84532", "--accounts", "5", "--gas-limit", "50000000") as node:
        printed = wait_for(lambda: node.printed if "Ctrl-C" in node.printed else None, 10, "end of the banner")
        rows = re.findall(r"^ +\d +(0x\w{40}) +(0x\w{64}) +(\w+) *$", printed, re.MULTILINE)
        assert [role for _, _, role in rows] == ["issuer", "merchant", "facilitator", "buyer", "buyer"]
        assert [Account.from_key(key).address for _, key, _ in rows] == ADDRESSES[:5] == [row[0] for row in rows]
        for name, address in (
            ("Token", TOKEN),
            ("Checkout", CHECKOUT),
            ("Payouts", PAYOUTS),
            ("Batch capture", BATCH_CAPTURE),
        ):
            assert re.search(rf"^  {name} +{address}$", printed, re.MULTILINE)
            assert len(node.rpc("eth_getCode", address, "latest")) > 1000
        assert all(len(node.rpc("eth_getCode", each, "latest")) > 1000 for each in FIXED)
        assert int(node.rpc("eth_getBalance", ADDRESSES[4], "latest"), 16) == 10_000 * 10**18
        assert node.rpc("eth_accounts") == [address.lower() for address in ADDRESSES[:5]]
        assert int(node.rpc("eth_getBlockByNumber", "earliest", False)["gasLimit"], 16) == 50_000_000
