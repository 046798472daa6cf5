"""The reference page: complete, self-contained, and with examples that conform to the document."""

import ast
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

import foreseal.payments.api
from foreseal.payments.api.errors import CODES
from foreseal.payments.api.openapi import document
from foreseal.payments.api.reference.error_codes import ERROR_CODES
from foreseal.payments.api.reference.examples import SchemaExamples
from foreseal.payments.api.reference.page import render_page
from foreseal.payments.api.routes import ROUTES
from foreseal.payments.api.routes.service import general_routes

DOCUMENT = document((*ROUTES, *general_routes(dict, ROUTES)))
SCHEMAS = DOCUMENT["components"]["schemas"]
VOID = {"meta"}


class Page(HTMLParser):
    """A parsed page; elements that are not nested correctly fail."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.links: list[str] = []
        self.elements: set[str] = set()
        self.words: list[str] = []
        self._open: list[str] = []
        self.feed(text)
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        self.elements.add(tag)
        self.ids += [str(value) for name, value in attrs if name == "id"]
        self.links += [str(attributes[name]) for name in ("href", "src") if name in attributes]
        assert not any(name.startswith("on") or name == "style" for name in attributes)
        if tag not in VOID:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)


@pytest.fixture(scope="module")
def page() -> Page:
    return Page(render_page(DOCUMENT))


def test_page_names_every_endpoint_type_and_code(page: Page) -> None:
    operations = {each["operationId"] for methods in DOCUMENT["paths"].values() for each in methods.values()}
    assert len(page.ids) == len(set(page.ids))
    assert set(page.ids) == operations | {f"type-{name}" for name in SCHEMAS} | {"types", "errors"}
    text = "".join(page.words)
    described = [
        inner["description"].replace("`", "")
        for schema in SCHEMAS.values()
        for inner in schema.get("properties", {}).values()
        if "description" in inner
    ]
    assert len(described) > 50
    assert not [each for each in described if each not in text]


def test_links_lead_to_the_page_or_the_document(page: Page) -> None:
    targets = {f"#{id}" for id in page.ids}
    assert set(page.links) - targets == {"v1/openapi.json"}
    assert not page.elements & {"script", "link", "img", "iframe", "form", "object"}


def test_text_of_the_document_is_escaped() -> None:
    changed = {**DOCUMENT, "info": {**DOCUMENT["info"], "description": "<script>alert(1)</script>"}}
    assert "script" not in Page(render_page(changed)).elements


@pytest.mark.parametrize("name", sorted(SCHEMAS))
def test_example_conforms_to_its_schema(name: str) -> None:
    reference = {"$ref": f"#/components/schemas/{name}"}
    Draft202012Validator({**reference, "components": DOCUMENT["components"]}).validate(
        SchemaExamples(SCHEMAS).example(reference)
    )


def test_error_codes_are_those_of_the_sources() -> None:
    calls = [
        node
        for path in Path(foreseal.payments.api.__file__).parent.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "ApiError" and len(node.args) > 1
    ]
    literals: list[Any] = [node.args[1].value for node in calls if isinstance(node.args[1], ast.Constant)]
    assert len(literals) > 20
    codes = [each.code for each in ERROR_CODES]
    assert sorted(codes) == sorted({*literals, *CODES})
    assert [each.status for each in ERROR_CODES] == sorted(each.status for each in ERROR_CODES)
