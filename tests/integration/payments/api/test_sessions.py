"""Sessions of the dashboard: cookies, forged requests, fixation, expiry and revocation."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest
from sqlalchemy import func, select

from foreseal.payments.api import api_keys
from foreseal.payments.api.dashboard.session_endpoint import WRONG_KEY_RATE
from foreseal.payments.api.models import ApiKeyRecord, SessionRecord
from foreseal.payments.api.roles import Role
from foreseal.payments.api.routes import ROUTES
from foreseal.payments.api.sessions import MAX_SESSIONS
from payments.api.service_harness import ServiceHarness

SESSION = "/dashboard/api/session"
ORIGIN = "http://shop.test"
NAME = "foreseal-session"


@dataclass
class Browser:
    """A browser with the cookie of a session, on a page of the service."""

    service: ServiceHarness
    cookie: str = ""
    csrf_token: str = ""
    process: Any = None
    name: str = NAME
    headers: dict[str, str] = field(default_factory=lambda: {"origin": ORIGIN, "sec-fetch-site": "same-origin"})

    def request(self, method: str, path: str, **more: Any) -> httpx.Response:
        headers = dict(self.headers)
        if self.cookie:
            headers["cookie"] = f"{self.name}={self.cookie}"
        if self.csrf_token and method != "GET":
            headers["x-csrf-token"] = self.csrf_token
        if method == "POST" and path.startswith("/v1/"):
            headers["idempotency-key"] = self.service.key()
        changed = more.pop("headers", {})
        headers = {name: value for name, value in (headers | changed).items() if value is not None}
        process = self.process or self.service.process
        response: httpx.Response = process.request(method, path, headers=headers, **more)
        return response

    def sign_in(self, key: str) -> httpx.Response:
        response = self.request("POST", SESSION, json={"key": key})
        if response.status_code == 200:
            name, _, rest = response.headers["set-cookie"].partition("=")
            assert name == self.name
            self.cookie, self.csrf_token = rest.partition(";")[0], response.json()["csrf_token"]
        return response


@pytest.fixture
def browser(service: ServiceHarness) -> Browser:
    return Browser(service)


def rows(service: ServiceHarness) -> int:
    with service.database.reading() as tx:
        return int(tx.execute(select(func.count()).select_from(SessionRecord)).scalar_one())


def test_cookie_is_out_of_reach_of_scripts_and_other_sites(service: ServiceHarness, browser: Browser) -> None:
    response = browser.sign_in(service.keys[Role.CASHIER])
    assert response.headers["set-cookie"] == f"{NAME}={browser.cookie}; Path=/; HttpOnly; SameSite=Strict"
    assert (len(browser.cookie), response.headers["cache-control"]) == (64, "no-store")
    assert browser.cookie not in response.text
    with service.database.reading() as tx:
        assert browser.cookie not in str(tx.execute(select(SessionRecord)).all())


def test_cookie_is_secure_behind_tls(service: ServiceHarness) -> None:
    service.configure('[dashboard]\npublic_url = "https://pay.shop.test"\n')
    service.restart()
    browser = Browser(service, name=f"__Host-{NAME}", headers={"origin": "https://pay.shop.test"})
    response = browser.sign_in(service.keys[Role.READER])
    assert response.headers["set-cookie"].endswith("; Path=/; HttpOnly; SameSite=Strict; Secure")
    assert browser.request("GET", "/v1/orders").status_code == 200
    wrong = browser.request("GET", "/v1/orders", headers={"origin": "http://pay.shop.test"})
    assert (wrong.status_code, wrong.json()["error"]["code"]) == (403, "cross_origin")


@pytest.mark.parametrize("role", [role for role in Role if role is not Role.PUBLISHABLE])
def test_session_has_the_rights_of_its_key(service: ServiceHarness, browser: Browser, role: Role) -> None:
    browser.sign_in(service.keys[role])
    permitted = set(browser.request("GET", SESSION).json()["permissions"])
    for route in ROUTES:
        path = route.path.replace("{transaction}", "0x" + "00" * 32).replace("{position}", "0").replace("{id}", "1")
        as_key = service.request(route.method, path, role=role)
        as_session = browser.request(route.method, path)
        assert as_session.status_code == as_key.status_code, route.path
        assert (as_session.status_code != 403) == (f"{route.method} {route.path}" in permitted), route.path
        assert browser.request(route.method, path, headers={"cookie": None}).status_code == 401


@pytest.mark.parametrize(
    ("changed", "code"),
    [
        ({"x-csrf-token": None}, "invalid_csrf_token"),
        ({"x-csrf-token": "0" * 64}, "invalid_csrf_token"),
        ({"x-csrf-token": "é".encode("latin-1")}, "invalid_csrf_token"),
        ({"origin": "http://evil.test"}, "cross_origin"),
        ({"origin": "null"}, "cross_origin"),
        ({"origin": "http://shop.test.evil.test"}, "cross_origin"),
        ({"origin": None, "sec-fetch-site": None}, "cross_origin"),
        ({"sec-fetch-site": "cross-site"}, "cross_origin"),
        ({"sec-fetch-site": "same-site"}, "cross_origin"),
        ({"sec-fetch-site": "none"}, "cross_origin"),
    ],
)
def test_forged_change_is_rejected(
    service: ServiceHarness, browser: Browser, changed: dict[str, str | None], code: str
) -> None:
    browser.sign_in(service.keys[Role.ADMIN])
    service.stored("a")
    for method, path in (("POST", "/v1/orders/a/void"), ("POST", "/v1/orders/a/capture"), ("DELETE", SESSION)):
        response = browser.request(method, path, headers=changed)
        assert (response.status_code, response.json()["error"]["code"]) == (403, code), path
    assert service.state("a") == "Stored, unused / idle"
    assert browser.request("POST", "/v1/orders/a/void").status_code == 200


def test_token_of_another_session_is_rejected(service: ServiceHarness, browser: Browser) -> None:
    browser.sign_in(service.keys[Role.ADMIN])
    other = Browser(service)
    other.sign_in(service.keys[Role.ADMIN])
    service.stored("a")
    response = browser.request("POST", "/v1/orders/a/void", headers={"x-csrf-token": other.csrf_token})
    assert response.json()["error"]["code"] == "invalid_csrf_token"


def test_other_site_reads_nothing(service: ServiceHarness, browser: Browser) -> None:
    browser.sign_in(service.keys[Role.ADMIN])
    for path in ("/v1/orders", "/v1/export.csv", SESSION):
        for site in ("cross-site", "same-site"):
            response = browser.request("GET", path, headers={"origin": None, "sec-fetch-site": site})
            assert (response.status_code, response.json()["error"]["code"]) == (403, "cross_origin")
    assert browser.request("GET", "/v1/export.csv", headers={"origin": None, "sec-fetch-site": "none"}).is_success


def test_sign_in_ends_the_session_of_the_cookie_and_never_accepts_its_id(
    service: ServiceHarness, browser: Browser
) -> None:
    browser.cookie = planted = "ab" * 32
    browser.sign_in(service.keys[Role.READER])
    first = browser.cookie
    assert first != planted
    browser.sign_in(service.keys[Role.ADMIN])
    assert browser.cookie != first
    for old in (planted, first):
        assert Browser(service, cookie=old).request("GET", "/v1/orders").status_code == 401
    assert rows(service) == 1


def test_other_site_cannot_sign_a_browser_in(service: ServiceHarness, browser: Browser) -> None:
    key = service.keys[Role.ADMIN]
    for changed in ({"origin": "http://evil.test"}, {"sec-fetch-site": "cross-site"}):
        assert browser.request("POST", SESSION, json={"key": key}, headers=changed).status_code == 403
    form = browser.request("POST", SESSION, content=f'{{"key": "{key}"}}', headers={"content-type": "text/plain"})
    assert form.json()["error"]["argument"] == "Content-Type"
    assert rows(service) == 0


def test_wrong_api_key_never_falls_back_to_the_session(service: ServiceHarness, browser: Browser) -> None:
    browser.sign_in(service.keys[Role.ADMIN])
    assert browser.request("GET", "/v1/orders", headers={"authorization": "Bearer pay_x"}).status_code == 401
    # An API key needs no token, even if a cookie is sent as well.
    key = {"authorization": f"Bearer {service.keys[Role.ADMIN]}", "x-csrf-token": None, "origin": "http://evil.test"}
    service.stored("a")
    assert browser.request("POST", "/v1/orders/a/void", headers=key).status_code == 200


def test_session_ends_when_idle_and_after_its_lifetime(service: ServiceHarness, browser: Browser) -> None:
    service.configure("[dashboard]\nidle_minutes = 10\nsession_hours = 1\n")
    service.restart()
    browser.sign_in(service.keys[Role.READER])
    for _ in range(6):
        service.offset += 595
        assert browser.request("GET", "/v1/orders").status_code == 200
    service.offset += 31  # 3,601 s
    assert browser.request("GET", "/v1/orders").status_code == 401
    assert browser.request("GET", SESSION).json() is None
    browser.sign_in(service.keys[Role.READER])
    service.offset += 601
    assert browser.request("GET", "/v1/orders").status_code == 401
    browser.sign_in(service.keys[Role.READER])
    assert rows(service) == 1


def test_background_requests_do_not_prolong_a_session(service: ServiceHarness, browser: Browser) -> None:
    browser.sign_in(service.keys[Role.READER])
    idle = browser.request("GET", SESSION).json()["idle_seconds"]
    for _ in range(3):
        service.offset += idle // 3 - 5
        assert browser.request("GET", "/v1/orders", headers={"x-background": "1"}).status_code == 200
    service.offset += 20
    assert browser.request("GET", "/v1/orders", headers={"x-background": "1"}).status_code == 401


def test_sign_out_ends_the_session_in_every_process(service: ServiceHarness, browser: Browser) -> None:
    browser.sign_in(service.keys[Role.READER])
    other = Browser(service, browser.cookie, browser.csrf_token, service.another())
    assert other.request("GET", "/v1/orders").status_code == 200
    response = browser.request("DELETE", SESSION)
    assert response.headers["set-cookie"].startswith(f"{NAME}=; Path=/")
    assert "Max-Age=0" in response.headers["set-cookie"]
    assert browser.request("GET", "/v1/orders").status_code == 401
    # A process caches sessions for a second.
    service.offset += 2
    assert other.request("GET", "/v1/orders").status_code == 401
    assert rows(service) == 0


def test_revocation_of_the_key_ends_its_sessions(service: ServiceHarness, browser: Browser) -> None:
    browser.sign_in(service.keys[Role.ADMIN])
    with service.database.transaction() as tx:
        (id,) = tx.execute(select(ApiKeyRecord.id).where(ApiKeyRecord.name == "admin")).scalars()
        api_keys.revoke(tx, id, 1)
    service.offset += 2
    assert browser.request("GET", "/v1/orders").status_code == 401
    assert browser.sign_in(service.keys[Role.ADMIN]).status_code == 401


def test_sessions_of_a_key_are_bounded(service: ServiceHarness) -> None:
    browsers = [Browser(service) for _ in range(MAX_SESSIONS + 2)]
    other = Browser(service)
    other.sign_in(service.keys[Role.READER])
    for each in browsers:
        service.offset += 1
        each.sign_in(service.keys[Role.ADMIN])
    assert rows(service) == MAX_SESSIONS + 1
    statuses = [each.request("GET", "/v1/orders").status_code for each in [*browsers, other]]
    assert statuses == [401, 401, *[200] * MAX_SESSIONS, 200]


def test_wrong_keys_are_limited_by_address(service: ServiceHarness, browser: Browser) -> None:
    now = [0.0]
    object.__setattr__(service.backend, "monotonic", lambda: now[0])
    service.process.app = service.process.build_app()
    for wrong in ("", "pay_x", "pay_" + "0" * 10 + "_" + "0" * 64, *["x"] * (WRONG_KEY_RATE.burst - 3)):
        response = browser.sign_in(wrong)
        assert (response.status_code, response.json()["error"]["code"]) == (401, "invalid_api_key")
    limited = browser.sign_in("x")
    assert (limited.status_code, limited.json()["error"]["code"]) == (429, "too_many_attempts")
    # The address may be that of a proxy, so a valid key is accepted all the same.
    assert browser.sign_in(service.keys[Role.READER]).status_code == 200
    now[0] += int(limited.headers["retry-after"])
    assert limited.headers["retry-after"] == str(int(WRONG_KEY_RATE.interval))
    assert browser.sign_in("x").status_code == 401


def test_cookie_of_a_page_over_tls_is_secure_without_a_public_url(service: ServiceHarness, browser: Browser) -> None:
    host = "shop.test"
    headers = {"origin": f"https://{host}", "host": host}
    response = browser.request("POST", SESSION, json={"key": service.keys[Role.READER]}, headers=headers)
    assert response.status_code == 200
    assert "Secure" in response.headers["set-cookie"].split("; ")


def test_body_of_a_stranger_is_not_read(service: ServiceHarness) -> None:
    read: list[bytes] = []

    async def body() -> AsyncIterator[bytes]:
        read.append(b"{")
        yield b"{"

    headers = {"content-type": "application/json", "idempotency-key": "k"}
    response = service.process.request("POST", "/v1/orders", content=body(), headers=headers)
    assert (response.status_code, response.json()["error"]["code"]) == (401, "invalid_api_key")
    assert read == []


def test_publishable_key_cannot_sign_in(service: ServiceHarness, browser: Browser) -> None:
    refused = browser.sign_in(service.keys[Role.PUBLISHABLE])
    assert (refused.status_code, refused.json()["error"]["code"]) == (403, "insufficient_role")
    assert "set-cookie" not in refused.headers
    assert rows(service) == 0


def test_invalid_sign_ins_are_rejected(browser: Browser) -> None:
    for content, status in ((b"{", 400), (b"[]", 400), (b'{"key": 1}', 400), (b'{"key": "%b"}' % (b"x" * 2_000), 413)):
        response = browser.request("POST", SESSION, content=content, headers={"content-type": "application/json"})
        assert response.status_code == status
    for cookie in ("", "x", "x" * 5_000, "ab" * 32, "é"):
        headers = {"cookie": f"{NAME}={cookie}".encode()}
        assert browser.request("GET", "/v1/orders", headers=headers).status_code == 401


def test_disabled_dashboard_has_no_pages_and_no_sessions(service: ServiceHarness, browser: Browser) -> None:
    browser.sign_in(service.keys[Role.READER])
    service.configure("[dashboard]\nenabled = false\n")
    service.restart()
    assert browser.request("GET", "/v1/orders").status_code == 401
    for path in ("/dashboard", SESSION, "/dashboard/static/lib/theme.css"):
        assert browser.request("GET", path).status_code == 404


def test_pages_cannot_be_framed_and_run_own_scripts_only(browser: Browser) -> None:
    for path in ("/dashboard", "/dashboard/orders/a", "/dashboard//evil.test", "/dashboard/static/lib/theme.css"):
        headers = browser.request("GET", path).headers
        policy = dict(each.partition(" ")[::2] for each in headers["content-security-policy"].split("; "))
        directives = [policy[name] for name in ("frame-ancestors", "script-src", "default-src")]
        assert directives == ["'none'", "'self'", "'none'"]
        assert (headers["x-frame-options"], headers["x-content-type-options"]) == ("DENY", "nosniff")
        assert "location" not in headers
    assert browser.request("HEAD", "/dashboard").content == b""
    assert browser.request("POST", "/dashboard").status_code == 405
