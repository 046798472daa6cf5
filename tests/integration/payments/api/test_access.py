"""API keys and roles, and the OpenAPI document."""

import openapi_spec_validator
import orjson
import pytest
from sqlalchemy import select

from foreseal.cli.main import run
from foreseal.payments.api import api_keys
from foreseal.payments.api.checkout.routes import shopper_routes
from foreseal.payments.api.models import ApiKeyRecord
from foreseal.payments.api.roles import Role
from foreseal.payments.api.routes import ROUTES
from payments.api.service_harness import ServiceHarness

ROLES = {
    "cashier": {"payments", "batch", "orders", "signature", "capture", "void", "cancel"},
    "refunder": {"refunds", "refund"},
    "admin": {
        *("payouts", "splits", "preview", "resolution", "webhooks", "retire", "retry"),
        *("update", "rotate-secret", "test", "api-keys", "revoke"),
    },
}
SECRET_ROLES = set(Role) - {Role.PUBLISHABLE}


def test_every_route_enforces_its_documented_roles(service: ServiceHarness) -> None:
    seen: dict[str, set[str]] = {}
    for path, item in service.document["paths"].items():
        for method, operation in item.items():
            if not operation["security"]:
                assert path in ("/healthz", "/metrics", "/v1/openapi.json")
                continue
            if {"client_secret": []} in operation["security"]:
                assert path.startswith("/v1/checkout/")
                continue
            concrete = path.replace("{transaction}", "0x" + "00" * 32).replace("{position}", "0").replace("{id}", "1")
            allowed = {role for role in Role if service.request(method.upper(), concrete, role=role).status_code != 403}
            needed = Role.ADMIN
            for role in (Role.READER, Role.CASHIER, Role.REFUNDER):
                needed = role if role in allowed and needed is Role.ADMIN else needed
            assert allowed == (SECRET_ROLES if needed is Role.READER else {needed, Role.ADMIN})
            if method == "post":
                seen.setdefault(needed, set()).add(path.rpartition("/")[2])
            assert service.request(method.upper(), concrete, role=None).status_code == 401
    assert seen == ROLES


def test_key_is_stored_as_hash_and_ends_at_revocation(service: ServiceHarness) -> None:
    with service.database.transaction() as tx:
        text = api_keys.create(tx, "shop", Role.READER, 1)
        row = tx.execute(select(ApiKeyRecord).where(ApiKeyRecord.name == "shop")).one()
        assert text.rpartition("_")[2] not in str(tuple(row))
    headers = {"authorization": f"Bearer {text}"}
    assert service.request("GET", "/v1/orders", role=None, headers=headers).status_code == 200
    changed = text[:-1] + ("0" if text[-1] != "0" else "1")
    for wrong in (changed, text.upper(), "", "pay_x", f"{text} "):
        response = service.request("GET", "/v1/orders", role=None, headers={"authorization": f"Basic {wrong}"})
        assert response.status_code == 401
    response = service.request("GET", "/v1/orders", role=None, headers={"authorization": f"Bearer {changed}"})
    assert (response.status_code, response.headers["www-authenticate"]) == (401, "Bearer")
    with service.database.transaction() as tx:
        api_keys.revoke(tx, "shop", 2)
    # A process caches keys for a second.
    service.offset += 2
    assert service.request("GET", "/v1/orders", role=None, headers=headers).status_code == 401


def test_command_creates_lists_and_revokes_keys(service: ServiceHarness, capsys: pytest.CaptureFixture[str]) -> None:
    def keys(*arguments: str, code: int = 0) -> str:
        assert run(["pay", "keys", *arguments, "--config", str(service.file)]) == code
        return capsys.readouterr().out if code == 0 else capsys.readouterr().err

    text = keys("create", "service 1", "--role", "cashier").strip()
    listed = orjson.loads(keys("list", "--json"))
    (mine,) = [each for each in listed if each["name"] == "service 1"]
    assert (mine["role"], mine["state"], mine["id"]) == ("cashier", "active", text.split("_")[1])
    assert f"{mine['id']}  service 1" in keys("list")
    keys("revoke", "service 1")
    assert "no active key service 1" in keys("revoke", "service 1", code=2)
    assert "1 to 64 printable characters" in keys("create", " ", "--role", "reader", code=2)
    assert {each["state"] for each in orjson.loads(keys("list", "--json")) if each["name"] == "service 1"} == {
        "revoked"
    }


def test_openapi_document_is_valid_and_has_every_route(service: ServiceHarness) -> None:
    document = service.document
    operations = {(method.upper(), path) for path, item in document["paths"].items() for method in item}
    assert operations == {(route.method, route.path) for route in (*ROUTES, *shopper_routes(dict))} | {
        ("GET", "/healthz"),
        ("GET", "/metrics"),
        ("GET", "/v1/openapi.json"),
    }
    openapi_spec_validator.validate(document)
