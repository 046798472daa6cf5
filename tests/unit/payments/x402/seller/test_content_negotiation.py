"""Negotiation of the form of a demand."""

import pytest

from foreseal.payments.x402.seller.content_negotiation import prefers_html

CHROMIUM = (
    "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8,"
    "application/signed-exchange;v=b3;q=0.7"
)


@pytest.mark.parametrize(
    "accept",
    [
        [CHROMIUM],
        ["text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"],
        ["text/html"],
        ["TEXT/HTML; charset=UTF-8"],
        ["text/*"],
        ["text/html;q=0.2, application/json;q=0.1"],
        ["text/html;q=0.2", "application/json;q=0.1"],
        ["application/json;q=0, */*"],
        ["application/json ; q=0.9 , text/html"],
        ['x/y;a="text/plain,q=1;", text/html'],
        ["text/html;q=0.001"],
    ],
)
def test_html_is_preferred(accept: list[str]) -> None:
    assert prefers_html(accept)


@pytest.mark.parametrize(
    "accept",
    [
        [],
        [""],
        ["*/*"],
        ["application/json"],
        ["application/json, text/plain, */*"],
        ["text/html, application/json"],
        ["text/html;q=0.5, */*;q=0.8"],
        ["text/html;q=0, */*;q=0"],
        ["text/html;q=0.8, application/*;q=0.9"],
        ["text/*;q=0.9, text/html;q=0.1, application/json;q=0.5"],
        ["text/html;q=1.5"],
        ["text/html;q=0.0000"],
        ["text/html;q=abc"],
        ["text/html;q=1;q=0.1"],
        ["text/html;level=1"],
        ["text/html-sandboxed"],
        ['x/y;a="text/html, text/html'],
        ['x/y;a="text/html", "'],
        ["text html", "/", ";;;,,,"],
    ],
)
def test_html_is_not_preferred(accept: list[str]) -> None:
    assert not prefers_html(accept)


@pytest.mark.parametrize("piece", ['"', "\\", '"\\', ",", ";", "a/b;", '"",', "text/html;q=0.5,"])
def test_long_headers_are_read(piece: str) -> None:
    assert not prefers_html([piece * 8_000 + ",application/json"])
