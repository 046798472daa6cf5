"""Many payers with code at once: what the budget has no room for waits, at /v1/payments and at signatures."""

from pathlib import Path
from typing import Any

import httpx
import pytest
from eth_account.signers.local import LocalAccount

from foreseal.payments.api.roles import Role
from foreseal.payments.transactions import read_lost_gas
from payments.api.service_harness import ServiceHarness
from payments.api.signed_payments import payment
from payments.people import BUYER, account
from payments.shop import FUNDS

PATH, BATCH = "/v1/payments", "/v1/payments/batch"
# Room for two captures in the chain in memory.
POLICY = "[policy]\ncode_lost_gas = 260_000\npayer_code_gas = 100_000\npayer_lost_gas = 1_000_000_000\n"
WALLETS = [account(3_001 + number) for number in range(6)]

pytestmark = pytest.mark.fake_chain


@pytest.fixture
def service(url: str, tmp_path: Path) -> Any:
    """Provide a service with a small budget and six payers with code."""
    one = ServiceHarness(url, tmp_path, POLICY)
    for each in WALLETS:
        one.chain.wallets[each.address.lower()] = each.address.lower()
        fund(one, each, FUNDS)
    yield one
    one.close()


def fund(service: ServiceHarness, wallet: LocalAccount, amount: int) -> None:
    service.chain.change(lambda state: state.balances.update({wallet.address.lower(): amount}))


def pay(service: ServiceHarness, body: Any, key: str) -> httpx.Response:
    return service.request("POST", PATH, body, key=key)


def test_payment_without_room_is_repeated_later(service: ServiceHarness) -> None:
    bodies = [payment(service, f"a{at}", buyer=wallet) for at, wallet in enumerate(WALLETS[:3])]
    assert [pay(service, body, f"k{at}").status_code for at, body in enumerate(bodies)] == [201, 201, 503]
    refused = pay(service, bodies[2], "k2")
    assert (refused.json()["error"]["code"], refused.headers["retry-after"]) == ("gas_budget_in_use", "1")
    assert service.ids() == ["a0", "a1"]
    assert pay(service, payment(service, "ordinary"), "o").status_code == 201
    service.chain.mine()
    service.run_pass()
    assert pay(service, bodies[2], "k2").status_code == 201
    service.settle()
    assert {service.state(id) for id in service.ids()} == {"Used, captured / final"}


def test_group_of_wallets_loses_at_most_the_budget(service: ServiceHarness) -> None:
    payments = [payment(service, f"a{at}", buyer=wallet) for at, wallet in enumerate(WALLETS)]
    payments.append(payment(service, "ordinary", buyer=BUYER))

    def hook(method: str) -> None:
        if method == "eth_sendRawTransaction":
            service.node.hook = None
            for wallet in WALLETS:
                fund(service, wallet, 0)

    service.node.hook = hook
    items = service.made(BATCH, {"payments": payments})["items"]
    assert [item["status"] for item in items] == [201] * 2 + [503] * 4 + [201]
    assert {item["error"]["code"] for item in items[2:6]} == {"gas_budget_in_use"}
    service.chain.mine()
    service.run_pass()
    with service.database.reading() as tx:
        assert 0 < read_lost_gas(tx, service.chain.chain_id, service.clock()).by_code <= 260_000
    assert service.state("ordinary").startswith("Used, captured")


def test_worker_captures_orders_once_there_is_room(service: ServiceHarness) -> None:
    errors = []
    for at, wallet in enumerate(WALLETS[:4]):
        service.draft(f"a{at}", buyer=wallet, auto_capture=True)
        body = {"signature": service.signature(f"a{at}", wallet)}
        errors.append(service.made(f"/v1/orders/a{at}/signature", body, role=Role.CASHIER)["capture_error"])
    assert [error and error["code"] for error in errors] == [None, None, "gas_budget_in_use", "gas_budget_in_use"]
    assert "in flight" in str(service.order("a2").last_error)
    service.run_pass()
    assert service.state("a2") == "Stored, unused / idle"
    service.settle()
    service.settle()
    assert {service.state(id) for id in service.ids()} == {"Used, captured / final"}
    assert service.order("a2").last_error is None
