"""Responses of a site's files."""

import gzip
import re

import pytest

from foreseal.pages import StaticSite
from foreseal.pages.static_site import FILES

DOCUMENT, RPC = "/explorer", "/explorer/static/lib/rpc.js"


@pytest.fixture(scope="module")
def site() -> StaticSite:
    return StaticSite("explorer")


def fetch(site: StaticSite, path: str, **headers: str) -> tuple[int, dict[bytes, bytes], bytes]:
    given = {name.replace("_", "-").encode(): value.encode() for name, value in headers.items()}
    status, lines, body = site.respond("GET", path, given)
    assert len(lines) == len({name for name, _ in lines})
    return status, dict(lines), body


def test_file_is_sent_as_it_is(site: StaticSite) -> None:
    status, headers, body = fetch(site, RPC)
    assert (status, headers[b"content-type"]) == (200, b"text/javascript; charset=utf-8")
    assert body == (FILES / "lib" / "rpc.js").read_bytes()
    assert b"content-encoding" not in headers


@pytest.mark.parametrize("value", ["gzip", "br, gzip;q=0.5", "*", "GZIP"])
def test_client_that_accepts_gzip_gets_it(site: StaticSite, value: str) -> None:
    _, headers, body = fetch(site, RPC, accept_encoding=value)
    assert headers[b"content-encoding"] == b"gzip"
    assert headers[b"vary"] == b"accept-encoding"
    assert gzip.decompress(body) == (FILES / "lib" / "rpc.js").read_bytes()


@pytest.mark.parametrize("value", ["gzip;q=0", "br", "identity", "gzip; q=0.000"])
def test_client_that_rejects_gzip_gets_plain_bytes(site: StaticSite, value: str) -> None:
    assert b"content-encoding" not in fetch(site, RPC, accept_encoding=value)[1]


@pytest.mark.parametrize(
    "path", ["/explorer", "/explorer/", "/explorer/block/1", "/explorer/tx/0x00/../..", "/explorer/%"]
)
def test_every_page_path_gets_the_document(site: StaticSite, path: str) -> None:
    assert site.contains(path)
    status, headers, body = fetch(site, path)
    assert (status, headers[b"content-type"]) == (200, b"text/html; charset=utf-8")
    assert body == (FILES / "explorer" / "index.html").read_bytes()


@pytest.mark.parametrize("path", ["/", "/explorers", "/explorer.html", "/static/lib/rpc.js"])
def test_path_outside_the_prefix_is_not_of_the_site(site: StaticSite, path: str) -> None:
    assert not site.contains(path)


@pytest.mark.parametrize(
    "name",
    ["../static_site.py", "lib/../../static_site.py", "lib/recursive-types.d.ts", "vendor/preact/LICENSE", "", "lib"],
)
def test_other_files_are_not_sent(site: StaticSite, name: str) -> None:
    status, headers, body = fetch(site, f"/explorer/static/{name}")
    assert (status, body) == (404, b"not found\n")
    assert headers[b"x-content-type-options"] == b"nosniff"


def test_a_build_without_libraries_says_so() -> None:
    site = StaticSite("explorer", ("lib", "missing"))
    for path in (DOCUMENT, RPC, "/explorer/static/vendor/preact/preact.js"):
        status, headers, body = fetch(site, path)
        assert (status, headers[b"content-type"]) == (503, b"text/plain; charset=utf-8")
        assert b"no registry of npm was reachable" in body


def test_unchanged_file_is_not_sent_again(site: StaticSite) -> None:
    tag = fetch(site, RPC)[1][b"etag"].decode()
    for given in (tag, f"W/{tag}", f'"other", {tag}', "*"):
        status, headers, body = fetch(site, RPC, if_none_match=given)
        assert (status, headers[b"etag"].decode(), body) == (304, tag, b"")
    assert fetch(site, RPC, if_none_match='"other"')[0] == 200


def test_policy_allows_only_the_own_origin(site: StaticSite) -> None:
    for path in (DOCUMENT, RPC):
        policy = fetch(site, path)[1][b"content-security-policy"].decode()
        assert "default-src 'none'" in policy
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy


def test_site_may_replace_a_directive() -> None:
    site = StaticSite("explorer", sources={"form-action": "'self'"})
    policy = fetch(site, DOCUMENT)[1][b"content-security-policy"].decode()
    assert policy.count("form-action") == 1
    assert "form-action 'self'" in policy


def test_other_verbs_are_rejected(site: StaticSite) -> None:
    status, lines, _ = site.respond("POST", DOCUMENT, {})
    assert status == 405
    assert (b"allow", b"GET, HEAD") in lines


def test_every_import_and_every_link_names_a_file_that_is_sent(site: StaticSite) -> None:
    sent = set(site.paths)
    document = fetch(site, DOCUMENT)[2].decode()
    linked = re.findall(r'(?:href|src)="(/explorer/static/[^"]*)"', document)
    assert linked
    assert set(linked) <= sent
    imports = 0
    for path in sorted(sent):
        if not path.endswith(".js"):
            continue
        file = FILES / path.removeprefix("/explorer/static/")
        for name in re.findall(r"(?:^|[}\s])(?:import|from)\s*\(?\s*'(\.[^']+)'", file.read_text(), re.MULTILINE):
            imports += 1
            assert (file.parent / name).resolve().is_file(), f"{path} imports {name}"
    assert imports > 100


def test_pages_have_no_inline_script_or_style() -> None:
    for document in FILES.rglob("*.html"):
        text = document.read_text()
        assert not re.search(r"<script(?![^>]*\bsrc=)", text)
        assert "<style" not in text
        assert not re.search(r"\s(?:on\w+|style)=", text)
