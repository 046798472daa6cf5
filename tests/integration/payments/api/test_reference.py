"""The reference page over HTTP: public, cached, and limited to its own style."""

import base64
import hashlib
import re

from payments.api.service_harness import ServiceHarness


def test_reference_is_public_and_allows_only_its_style(service: ServiceHarness) -> None:
    response = service.process.request("GET", "/docs")
    assert response.status_code == 200
    assert response.headers["content-type"] == "text/html; charset=utf-8"
    [style] = re.findall(r"<style>(.*?)</style>", response.text, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = dict(each.strip().split(" ", 1) for each in response.headers["content-security-policy"].split(";"))
    assert policy == {
        "default-src": "'none'",
        "style-src": f"'sha256-{digest}'",
        "base-uri": "'none'",
        "form-action": "'none'",
        "frame-ancestors": "'none'",
    }
    assert "prefers-color-scheme:dark" in style
    assert "/v1/orders/{id}/capture" in response.text


def test_unchanged_reference_is_not_sent_again(service: ServiceHarness) -> None:
    first = service.process.request("GET", "/docs")
    assert first.headers["cache-control"] == "public, max-age=300"
    for condition in (first.headers["etag"], f'"other", W/{first.headers["etag"]}', "*"):
        again = service.process.request("GET", "/docs", headers={"if-none-match": condition})
        assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", first.headers["etag"])
    changed = service.process.request("GET", "/docs", headers={"if-none-match": '"other"'})
    assert (changed.status_code, changed.content) == (200, first.content)


def test_reference_supports_only_reading(service: ServiceHarness) -> None:
    response = service.process.request("POST", "/docs")
    assert (response.status_code, response.json()["error"]["code"]) == (405, "method_not_allowed")
    assert service.process.request("HEAD", "/docs").status_code == 200
