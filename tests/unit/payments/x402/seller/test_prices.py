"""Prices of routes in a table: spellings that are one path, and paths whose price is unclear."""

from typing import Any

import pytest

from foreseal.payments.x402.seller.prices import Price, PriceTable
from foreseal.payments.x402.seller.route_paths import UnclearPath


def find_amounts(table: PriceTable, path: str, method: str = "GET", **scope: Any) -> list[int]:
    """Return the amounts of a request's prices."""
    return [price.units for price in table.find({"type": "http", "method": method, "path": path, **scope})]


@pytest.mark.parametrize(
    "path",
    [
        "/report",
        "/report/",
        "//report",
        "/REPORT",
        "/report\n",
        "/re\tport",
        "/%72eport",
        "/items/+1",
        "/items/1_000/",
        "/names/",
        "//names/",
        "/names/a b",
        "/files/",
        "/files/a\nb",
        "/files//a/",
        "/slash",
        "/slash//",
        "/Müller",
    ],
)
def test_spelling_of_a_route_has_its_price(path: str) -> None:
    routes = ("/report", "/items/{number:int}", "/names/{name}", "/files/{name:path}", "/slash/", "/M%C3%BCller")
    assert find_amounts(PriceTable({f"GET {route}": Price(7) for route in routes}), path) == [7]


@pytest.mark.parametrize("path", ["/", "/free", "/reports", "/report/x", "/names", "/names/a/b", "/files"])
def test_other_path_is_free(path: str) -> None:
    table = PriceTable({f"GET {route}": Price(7) for route in ("/report", "/names/{name}", "/files/{name:path}")})
    assert find_amounts(table, path) == []


def test_encoded_slash_is_part_of_a_segment_or_ends_it() -> None:
    table = PriceTable({"GET /names/{name}": Price(7)})
    assert find_amounts(table, "/names/a/b", raw_path=b"/names/a%2Fb") == [7]
    assert find_amounts(table, "/names/a/b", raw_path=b"/names/a/b") == []
    table = PriceTable({"GET /names/{name}": Price(7), "GET /names/{name}/{part}": Price(9)})
    with pytest.raises(UnclearPath, match=r"^path: has another price in another spelling$"):
        find_amounts(table, "/names/a/b", raw_path=b"/names/a%2Fb")


@pytest.mark.parametrize(
    ("path", "root"),
    [
        ("/api/report", "/api"),
        ("/report", "/api"),
        ("/apireport", "/api"),
        ("//api//report/", "/api"),
        ("/other/api/report", "/api"),
    ],
)
def test_price_applies_below_the_mount_point(path: str, root: str) -> None:
    assert find_amounts(PriceTable({"GET /report": Price(7)}), path, root_path=root) == [7]


def test_path_below_the_mount_point_decides_first() -> None:
    table = PriceTable({"GET /{name}/{part}": Price(9), "GET /{name}": Price(7)})
    assert find_amounts(table, "/api/report", root_path="/api") == [7]
    assert find_amounts(table, "/report", raw_path=b"/v1/report") == [7]  # middleware removed a prefix from `path` only
    assert find_amounts(PriceTable({"GET /api/report": Price(7)}), "/api/report", root_path="/api") == [7]


def test_spelling_cannot_choose_the_lower_price() -> None:
    table = PriceTable({"GET /files/secret": Price(9), "GET /files/{name:path}": Price(1)})
    assert find_amounts(table, "/files/secret") == [9]
    assert find_amounts(table, "/files/other/") == [1]
    for path in ("/files/secret/", "/files//secret", "/files/SECRET", "/files/%73ecret"):
        with pytest.raises(UnclearPath):
            find_amounts(table, path)


@pytest.mark.parametrize(
    "path", ["/free/../report", "/report/.", "/%2e%2e/report", "report", "http://shop.test/report"]
)
def test_path_with_dot_segments_or_without_a_slash_is_unclear(path: str) -> None:
    with pytest.raises(UnclearPath, match=r"^path: (contains a dot segment|must begin with /)$"):
        find_amounts(PriceTable({"POST /other": Price(7)}), path)
    assert find_amounts(PriceTable({}), path) == []


@pytest.mark.parametrize(
    ("route", "method", "amounts"),
    [
        ("GET /report", "HEAD", [7]),
        ("GET /report", "get", [7]),
        ("GET /report", "POST", []),
        ("* /report", "POST", [7]),
        ("* /report", "ANYTHING", [7]),
        ("POST /report", "GET", []),
    ],
)
def test_method_decides_the_price(route: str, method: str, amounts: list[int]) -> None:
    assert find_amounts(PriceTable({route: Price(7)}), "/report", method) == amounts


@pytest.mark.parametrize(
    ("route", "reason"),
    [
        ("GET /<name>", "contains one of < > { } ? # outside a parameter such as {name} or {name:path}"),
        ("GET /{a-b}", "contains one of"),
        ("GET /report?page=1", "contains one of"),
        ("GET /a/../report", "contains a dot segment"),
        ("GET report", "must begin with /"),
    ],
)
def test_route_that_no_request_could_match_is_an_error(route: str, reason: str) -> None:
    with pytest.raises(ValueError, match=r"^prices: the path of ") as error:
        PriceTable({route: Price(7)})
    assert reason in str(error.value)
