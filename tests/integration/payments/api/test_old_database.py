"""An upgraded database that an earlier version wrote, with its own words for reasons, endings and deliveries."""

import sqlite3
from pathlib import Path
from typing import Any

from foreseal.payments.ledger import Database
from payments.api.service_harness import ServiceHarness
from repository import SUPPORT

DUMP = SUPPORT / "payments" / "data" / "ledger_v3.sql"


def opened(folder: Path) -> ServiceHarness:
    """Return a service on the database of the dump, with a new API key per role."""
    with sqlite3.connect(folder / "pay.db") as database:
        database.executescript(DUMP.read_text())
    database.close()
    Database(f"sqlite:///{folder}/pay.db", upgrade=True).close()
    return ServiceHarness(f"sqlite:///{folder}/pay.db", folder)


def events(service: ServiceHarness, path: str) -> list[tuple[str, Any]]:
    """Return type and reason of each event."""
    found = service.get(f"/v1/{path}/timeline")["items"]
    return [(each["type"], each["data"]["details"].get("reason")) for each in found]


def test_upgraded_database_of_an_earlier_version_is_readable(tmp_path: Path) -> None:
    service = opened(tmp_path)
    try:
        found = {each["id"]: each for each in service.get("/v1/orders")["items"]}
        shown = {id: (each["state"], each["finality"], each["tx_status"]) for id, each in found.items()}
        assert shown == {
            "drafted": ("Drafted", None, None),
            "stored": ("Stored, unused", None, None),
            "voided": ("Voided offchain", None, None),
            "paid": ("Used, captured", "final", None),
            "broadcast": ("Stored, unused", None, "broadcast"),
        }
        assert service.get("/v1/orders/paid")["transactions"][0]["result"] == "included"
        reasons = [each["reason"] for each in service.get("/v1/unmatched-transfers")["items"]]
        assert sorted(reasons) == ["direct", "duplicate", "late", "overpaid", "underpaid", "unmatched"]
        assert len(service.get("/v1/unmatched-transfers?reason=underpaid")["items"]) == 1
        assert ("order.transfer_unmatched", "duplicate") in events(service, "orders/paid")
        assert events(service, "orders/voided")[3] == ("order.voided", "merchant_voided")
        assert events(service, "refunds/r2") == [("refund.created", None), ("refund.blocked", "recipient_forbidden")]
        assert ("refund.completed", None) in events(service, "refunds/r1")
        deliveries = service.get("/v1/deliveries")["items"]
        assert {each["state"] for each in deliveries} == {"pending"}
        service.offset += 100_000
        assert service.process.deliver() > 0
        balance, sums = service.balance()
        assert (sums["captured"], sums["refunded"], balance["faults"]) == ("500", "200", [])
    finally:
        service.close()
