"""One service with two tokens of different decimals, on a node with the real contracts."""

import csv
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from eth_utils.address import to_checksum_address

from foreseal.payments.api.roles import Role
from payments.api.service_harness import ServiceHarness
from payments.api.signed_payments import payment
from payments.fake.contracts import TOKEN, call_data, topic
from payments.people import EURO
from payments.real.chain import EURO_DECIMALS
from payments.real.node import make_node_chain
from payments.shop import ADDRESS, BUYER, BUYERS, SHOP

ONE = 10**EURO_DECIMALS
EURO_SECTION = f"""
[[destinations]]
name = "euro"
[destinations.token]
address = "{EURO}"
name = "Euro Coin"
symbol = "EURC"
decimals = {EURO_DECIMALS}
"""
BATCH = "/v1/payments/batch"


@pytest.fixture
def service(url: str, tmp_path: Path) -> Iterator[ServiceHarness]:
    one = ServiceHarness(url, tmp_path, EURO_SECTION, finality=4, chains=make_node_chain)
    yield one
    one.close()
    one.chain.close()


def balance_on_chain(service: ServiceHarness, token: str) -> int:
    data = "0x" + call_data("balanceOf(address)", SHOP.address).hex()
    return int(service.chain.rpc("eth_call", {"to": token, "data": data}, "latest"), 16)


def moved_on_chain(service: ServiceHarness) -> set[tuple[str, str, int, int]]:
    """Return token, transaction, log index and amount of every transfer on the chain."""
    name = "0x" + topic("Transfer(address,address,uint256)").hex()
    return {
        (to_checksum_address(log["address"]), log["transactionHash"], int(log["logIndex"], 16), int(log["data"], 16))
        for log in service.chain.logs()
        if log["topics"][0] == name
    }


def test_payments_in_two_tokens_are_captured_refunded_and_exported(service: ServiceHarness) -> None:
    euro: dict[str, Any] = {"destination": "euro"}
    shown: dict[str, Any] = {}
    service.chain.change(lambda state: state.balances.update({BUYER.address.lower(): 5_000_000}))
    orders_of: list[tuple[str, int, dict[str, Any]]] = [("u", 1_250_000, {}), ("e", 3 * ONE // 2, euro)]
    for id, amount, more in orders_of:
        shown[id] = service.draft(id, amount, **more)
        service.made(f"/v1/orders/{id}/signature", {"signature": service.signature(id)})
        service.made(f"/v1/orders/{id}/capture")
    assert shown["e"]["typed_data"]["domain"]["verifyingContract"] == to_checksum_address(EURO)
    assert shown["e"]["typed_data"]["domain"]["name"] == "Euro Coin"
    orders = {id: each["order"] for id, each in shown.items()}
    assert [orders[id]["amount_shown"] for id in ("u", "e")] == ["1.25 USDC", "1.50 EURC"]
    assert [(orders[id]["token"], orders[id]["symbol"]) for id in ("u", "e")] == [
        (ADDRESS, "USDC"),
        (to_checksum_address(EURO), "EURC"),
    ]
    items = [
        payment(service, "pe", 2 * ONE, BUYERS[1], **euro),
        payment(service, "pu", 7, BUYER),
        payment(service, "pe2", ONE, BUYERS[2], **euro),
    ]
    assert [each["status"] for each in service.made(BATCH, {"payments": items})["items"]] == [201] * 3
    service.settle()
    assert {service.state(id) for id in ("u", "e", "pe", "pu", "pe2")} == {"Used, captured / final"}
    refund = service.made("/v1/orders/e/refunds", {"id": "r", "amount": str(ONE // 2)})["refund"]
    assert (refund["destination"], refund["token"]) == ("euro", to_checksum_address(EURO))
    assert refund["amount_shown"] == "0.50 EURC"
    assert service.refused(409, "not_covered", "/v1/orders/u/refunds", {"amount": str(ONE)})["argument"] == "amount"
    service.settle()
    balance = service.get("/v1/balance")
    sums = {each["destination"]: (each["captured"], each["refunded"]) for each in balance["destinations"]}
    assert (sums, balance["faults"]) == ({"default": ("1250007", "0"), "euro": (str(9 * ONE // 2), str(ONE // 2))}, [])
    assert balance_on_chain(service, TOKEN) == 1_250_007
    assert balance_on_chain(service, EURO) == 4 * ONE
    text = service.request("GET", "/v1/export.csv", role=Role.READER).text
    rows = list(csv.DictReader(io.StringIO(text)))
    exported = {(row["token"], row["transaction_hash"], int(row["log_index"]), int(row["amount"])) for row in rows}
    assert (len(rows), exported) == (6, moved_on_chain(service))
    assert {(row["destination"], row["amount_shown"]) for row in rows if row["order_id"] in ("pu", "pe")} == {
        ("default", "0.000007"),
        ("euro", f"2.{'0' * 18}"),
    }


def test_one_nonce_of_a_buyer_serves_each_token_once(service: ServiceHarness) -> None:
    service.chain.change(lambda state: state.balances.update({BUYER.address.lower(): 5_000_000}))
    nonce = bytes([7]) * 32
    service.made("/v1/payments", payment(service, "u", 5, nonce=nonce))
    service.made("/v1/payments", payment(service, "e", 5, nonce=nonce, destination="euro"))
    body = payment(service, "again", 5, nonce=nonce, destination="euro")
    service.refused(409, "duplicate", "/v1/payments", body | {"capture": False})
    service.settle()
    assert {service.state(id) for id in ("u", "e")} == {"Used, captured / final"}


def test_signature_for_one_token_does_not_pay_in_another(service: ServiceHarness) -> None:
    body = payment(service, "a", 5, destination="euro")
    service.refused(422, "invalid_signature", "/v1/payments", body | {"destination": "default"})
    assert service.ids() == []


def test_transfers_are_counted_for_their_own_token(service: ServiceHarness) -> None:
    data = call_data("transfer(address,uint256)", SHOP.address, ONE)
    service.chain.inject(BUYER.address.lower(), EURO, data)
    service.chain.mine()
    service.settle()
    (transfer,) = service.get("/v1/unmatched-transfers")["items"]
    assert (transfer["destination"], transfer["amount_shown"]) == ("euro", "1.00 EURC")
    refund = service.made(
        f"/v1/unmatched-transfers/{transfer['transaction_hash']}/{transfer['position']}/refund", {"id": "r"}
    )["refund"]
    assert refund["symbol"] == "EURC"
    service.settle()
    assert balance_on_chain(service, EURO) == 0
    assert service.get("/v1/balance")["faults"] == []
