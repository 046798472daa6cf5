"""API keys over HTTP."""

from sqlalchemy import select

from foreseal.payments.api.models import RequestRecord
from foreseal.payments.api.roles import Role
from payments.api.service_harness import ServiceHarness


def test_key_is_created_listed_used_and_revoked(service: ServiceHarness) -> None:
    made = service.made("/v1/api-keys", {"name": "till 1", "role": "cashier"})
    id, secret = made["api_key"]["id"], made["secret"]
    assert (made["api_key"]["role"], secret.split("_")[1]) == ("cashier", id)
    headers = {"authorization": f"Bearer {secret}"}
    assert service.request("GET", "/v1/orders", role=None, headers=headers).status_code == 200
    assert service.request("GET", "/v1/api-keys", role=None, headers=headers).status_code == 403
    listed = service.get("/v1/api-keys")["items"]
    active = [each["name"] for each in listed if each["revoked"] is None]
    assert sorted(active) == sorted([*(role.value for role in Role), "till 1"])
    assert secret.rpartition("_")[2] not in str(listed)
    # A name is not an id: another key could have it.
    assert service.refused(404, "not_found", "/v1/api-keys/till 1/revoke")["argument"] == "id"
    assert service.made(f"/v1/api-keys/{id}/revoke")["revoked"] is not None
    service.refused(404, "not_found", f"/v1/api-keys/{id}/revoke")
    service.offset += 2
    assert service.request("GET", "/v1/orders", role=None, headers=headers).status_code == 401


def test_secret_is_in_the_first_response_only(service: ServiceHarness) -> None:
    body = {"name": "shop", "role": "reader"}
    first = service.made("/v1/api-keys", body, key="once")
    again = service.made("/v1/api-keys", body, key="once")
    assert (again["api_key"], again["secret"]) == (first["api_key"], None)
    with service.database.reading() as tx:
        stored = b"".join(row.answer or b"" for row in tx.execute(select(RequestRecord)))
    assert first["secret"].rpartition("_")[2].encode() not in stored
    assert len([each for each in service.get("/v1/api-keys")["items"] if each["name"] == "shop"]) == 1


def test_invalid_keys_are_rejected(service: ServiceHarness) -> None:
    for name in ("", " x", "x" * 65, "a\nb"):
        assert service.refused(400, "invalid_value", "/v1/api-keys", {"name": name, "role": "reader"})
    assert service.refused(400, "invalid_value", "/v1/api-keys", {"name": "x", "role": "owner"})["argument"] == "role"
