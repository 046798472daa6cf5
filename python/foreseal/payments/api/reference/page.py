"""The reference as HTML: endpoints, types and error codes of an OpenAPI document."""

import html
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from foreseal.payments.api.reference.error_codes import ERROR_CODES
from foreseal.payments.api.reference.examples import SchemaExamples
from foreseal.payments.api.reference.style import STYLE
from foreseal.payments.api.schemas import Schema

_REFERENCE = "#/components/schemas/"
_LIMITS = {
    "minimum": "at least {}",
    "maximum": "at most {}",
    "minLength": "at least {} characters",
    "maxLength": "at most {} characters",
    "minItems": "at least {} items",
    "maxItems": "at most {} items",
    "default": "default {}",
}


@dataclass(frozen=True, slots=True)
class Html:
    """Text that is HTML already; other text is escaped."""

    text: str


TableCell = str | Html


def render_page(document: Schema) -> str:
    """Return the page for a document. It has no script and loads no other file."""
    schemas = document["components"]["schemas"]
    info = document["info"]
    operations = [
        (path, method.upper(), operation)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    ]
    codes = [(_code(each.code), str(each.status), each.meaning) for each in ERROR_CODES]
    lines = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{_text(info['title'])}: API reference</title>",
        f"<style>{STYLE}</style></head><body><main>",
        f"<h1>{_text(info['title'])}</h1>",
        f"<p>{_text(info['description'])} Version {_text(info['version'])}. "
        '<a href="v1/openapi.json">OpenAPI document</a></p>',
        "<p>Send the API key as <code>Authorization: Bearer KEY</code>, and a new <code>Idempotency-Key</code> with "
        "each new POST. Amounts are strings in smallest units; times are Unix times in seconds.</p>",
        '<nav aria-label="Contents"><ul>',
        *(f'<li><a href="#{_id(each)}">{_title(path, method)}</a></li>' for path, method, each in operations),
        '<li><a href="#types">Types</a></li><li><a href="#errors">Error codes</a></li></ul></nav>',
        "<h2>Endpoints</h2>",
        *(line for path, method, each in operations for line in _operation(path, method, each, schemas)),
        '<h2 id="types">Types</h2>',
        *(line for name, schema in schemas.items() for line in _component(name, schema)),
        '<h2 id="errors">Error codes</h2>',
        "<p>The code is in <code>error.code</code>; <code>error.message</code> is for people.</p>",
        _table(("Code", "Status", "Meaning"), codes),
        "</main></body></html>",
    ]
    return "\n".join(lines)


def _operation(path: str, method: str, operation: Schema, schemas: Schema) -> Iterator[str]:
    examples = SchemaExamples(schemas)
    yield f'<h3 id="{_id(operation)}"><a href="#{_id(operation)}">{_title(path, method)}</a></h3>'
    yield f"<p>{_text(operation['summary'])}. {_text(operation.get('description', 'Needs no API key.'))}</p>"
    if operation["parameters"]:
        rows = [
            (_code(each["name"]), each["in"], _type(each["schema"]), _required(each["required"]), each["description"])
            for each in operation["parameters"]
        ]
        yield "<h4>Parameters</h4>" + _table(("Name", "In", "Type", "", "Description"), rows)
    if "requestBody" in operation:
        schema = operation["requestBody"]["content"]["application/json"]["schema"]
        yield f"<h4>Body: {_type(schema).text}</h4>"
        yield _fields(schemas[schema["$ref"].removeprefix(_REFERENCE)])
        yield _example(examples.example(schema))
    yield "<h4>Responses</h4>"
    responses: list[tuple[TableCell, ...]] = []
    for status, response in sorted(operation["responses"].items()):
        ((media, content),) = response["content"].items()
        kind = _type(content["schema"]) if media == "application/json" else media
        responses.append((status, kind, response["description"]))
    yield _table(("Status", "Content", "Meaning"), responses)
    success = min(operation["responses"].items())[1]["content"].get("application/json")
    if success is not None:
        yield "<details><summary>Example of a response</summary>"
        yield _example(examples.example(success["schema"])) + "</details>"


def _component(name: str, schema: Schema) -> Iterator[str]:
    yield f'<h3 id="type-{_text(name)}">{_text(name)}</h3>'
    if "description" in schema:
        yield f"<p>{_prose(schema['description'])}</p>"
    yield _fields(schema) if "properties" in schema else f"<p>{_type(schema).text}</p>"


def _fields(schema: Schema) -> str:
    required = schema.get("required", ())
    rows = [
        (_code(name), _type(inner), _required(name in required), inner.get("description", ""))
        for name, inner in schema["properties"].items()
    ]
    return _table(("Field", "Type", "", "Description"), rows)


def _type(schema: Schema) -> Html:
    if "$ref" in schema:
        name = _text(schema["$ref"].removeprefix(_REFERENCE))
        return Html(f'<a href="#type-{name}">{name}</a>')
    if "anyOf" in schema:
        return Html(" or ".join(_type(each).text for each in schema["anyOf"]))
    if "enum" in schema:
        return Html(", ".join(_code(str(each)).text for each in schema["enum"]))
    limits = [text.format(schema[name]) for name, text in _LIMITS.items() if name in schema]
    if "pattern" in schema:
        limits.append(f"pattern {schema['pattern']}")
    kind = f"array of {_type(schema['items']).text}" if schema["type"] == "array" else _text(schema["type"])
    return Html(f'{kind} <span class="dim">{_text("; ".join(limits))}</span>' if limits else kind)


def _table(head: Sequence[str], rows: Sequence[Sequence[TableCell]]) -> str:
    header = "".join(f'<th scope="col">{_text(each)}</th>' for each in head)
    body = "".join(f"<tr>{''.join(f'<td>{_cell(each)}</td>' for each in row)}</tr>" for row in rows)
    return f'<div class="table"><table><thead><tr>{header}</tr></thead><tbody>{body}</tbody></table></div>'


def _cell(cell: TableCell) -> str:
    return cell.text if isinstance(cell, Html) else _prose(cell)


def _example(value: object) -> str:
    return f"<pre>{_text(json.dumps(value, indent=2))}</pre>"


def _title(path: str, method: str) -> str:
    return f'<code><span class="method">{_text(method)}</span> {_text(path)}</code>'


def _id(operation: Schema) -> str:
    return _text(operation["operationId"])


def _required(required: bool) -> str:
    return "required" if required else "optional"


def _code(text: str) -> Html:
    return Html(f"<code>{_text(text)}</code>")


def _prose(text: str) -> str:
    """Return escaped text in which `names` are code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", _text(text))


def _text(text: str) -> str:
    return html.escape(text)
