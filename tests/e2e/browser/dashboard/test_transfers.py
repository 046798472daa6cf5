"""Unmatched transfers in the dashboard, and who may resolve them."""

import pytest
from playwright.sync_api import Page, expect

from dashboard_pages import STAFF, Shop, confirm, result
from foreseal.payments.api.roles import Role
from foreseal.payments.contracts.development import NAME, TOKEN, VERSION
from foreseal.payments.typed_data import Domain, TransferAuthorization
from live import LiveNode
from live.blocks import wait_for
from live.sending import Sender
from payments.api.serving import BUYERS, MERCHANT
from payments.fake.contracts import call_data

SECONDS = 60.0
ACTIONS = {
    Role.READER: [],
    Role.CASHIER: [],
    Role.REFUNDER: ["Refund"],
    Role.ADMIN: ["Refund", "Resolve"],
}


def transfer(node: LiveNode, shop: Shop, amount: int) -> str:
    """Transfer to the merchant without an order; return the hash once the service has the transfer as final."""
    return send(node, shop, "0xa9059cbb" + MERCHANT.address[2:].lower().rjust(64, "0") + f"{amount:064x}")


def authorized_transfer(node: LiveNode, shop: Shop, amount: int) -> str:
    """Transfer like `transfer`, by an authorization that no sale of the service has."""
    node.rpc.close()  # as in `send`
    domain = Domain(NAME, VERSION, int(node.rpc("eth_chainId"), 16), TOKEN)
    terms = (BUYERS[6].address, MERCHANT.address, amount, 0, 2**63, b"\6" * 32)
    signature = TransferAuthorization(*terms).sign(domain, bytes(BUYERS[6].key))
    function = "transferWithAuthorization(address,address,uint256,uint256,uint256,bytes32,bytes)"
    return send(node, shop, "0x" + call_data(function, *terms, signature).hex())


def send(node: LiveNode, shop: Shop, data: str) -> str:
    """Send a call of the token; return its hash once the service lists its transfer as final."""
    node.rpc.close()  # the node may have closed the connection, which was idle for long
    hash = Sender(node.rpc, BUYERS[6]).send(to=TOKEN, data=data, gas=100_000)

    def is_final() -> bool:
        items = client.get("/v1/unmatched-transfers")["items"]
        return any(each["transaction_hash"] == hash and each["finality"] == "final" for each in items)

    with shop.client() as client:
        wait_for(is_final, SECONDS, "final unmatched transfer")
    return hash


@pytest.fixture(scope="module")
def open_transfer(payments_chain: LiveNode, shop: Shop) -> str:
    """Return the hash of a transfer that stays open."""
    return transfer(payments_chain, shop, 111)


@pytest.mark.parametrize("role", STAFF)
def test_transfer_has_the_actions_of_the_role(shop: Shop, page: Page, open_transfer: str, role: Role) -> None:
    shop.sign_in(page, role, "/transfers")
    row = page.get_by_role("row").filter(has=page.get_by_title(open_transfer))
    expect(row).to_contain_text("names no order")
    expect(row.locator(".actions > button")).to_have_text(ACTIONS[role])


def test_transfer_is_resolved_with_a_note(payments_chain: LiveNode, shop: Shop, page: Page) -> None:
    hash = transfer(payments_chain, shop, 222)
    shop.sign_in(page, path="/transfers")
    row = page.get_by_role("row").filter(has=page.get_by_title(hash))
    row.get_by_role("button", name="Resolve").click()
    expect(page.get_by_role("dialog").get_by_role("button", name="Resolve")).to_be_disabled()
    page.get_by_label("Note").fill("Invoice <b>7</b> of 2026")
    confirm(page, "Resolve")
    expect(row).to_have_count(0)
    page.get_by_label("Show").select_option("Resolved")
    expect(row).to_contain_text("Invoice <b>7</b> of 2026")
    expect(row.locator(".actions")).to_have_count(0)


def test_transfer_is_refunded_to_its_sender(payments_chain: LiveNode, shop: Shop, page: Page) -> None:
    hash = transfer(payments_chain, shop, 3_000)
    shop.sign_in(page, Role.REFUNDER, "/transfers")
    row = page.get_by_role("row").filter(has=page.get_by_title(hash))
    row.get_by_role("button", name="Refund").click()
    page.get_by_label("Amount to refund").fill("0.0031")
    expect(page.get_by_role("dialog").get_by_role("button", name="Refund")).to_be_disabled()
    page.get_by_label("Amount to refund").fill("0.003")
    confirm(page, "Refund")
    expect(result(page)).to_contain_text("Refund of 0.003 USDC to 0x")
    expect(row).to_have_count(0)
    with shop.client() as client:
        newest = client.get("/v1/refunds")["items"][0]
        assert (newest["recipient"], newest["amount"]) == (BUYERS[6].address, "3000")


def test_refund_for_a_shared_payee_needs_a_confirmation(payments_chain: LiveNode, shop: Shop, page: Page) -> None:
    hash = authorized_transfer(payments_chain, shop, 444)
    shop.sign_in(page, Role.REFUNDER, "/transfers")
    row = page.get_by_role("row").filter(has=page.get_by_title(hash))
    expect(row).to_contain_text("another service with this payee may have delivered for it")
    row.get_by_role("button", name="Refund").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("a refund would return money for a delivery")
    expect(dialog.get_by_role("button", name="Refund")).to_be_disabled()
    page.get_by_label("Deliveries of other services").select_option("No service has delivered for it")
    confirm(page, "Refund")
    expect(row).to_have_count(0)
