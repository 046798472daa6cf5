"""Sources of the TypeScript client: the types, and the methods."""

import json
import re
from collections.abc import Iterator
from typing import Any

from merchant_client.names import camel_case
from merchant_client.operations import Field, Operation, operations, reference_name

_NOTICE = "// `make merchant-client` generates this file from the OpenAPI document of the service.\n"
_SCALARS = {"string": "string", "integer": "number", "number": "number", "boolean": "boolean", "null": "null"}
# The client does not return the document.
_UNUSED = {"Document"}


def typescript_sources(document: dict[str, Any]) -> dict[str, str]:
    """Return the sources by file name."""
    found = list(operations(document))
    return {
        "values.ts": "\n".join(_values(document["components"]["schemas"])) + "\n",
        "types.ts": "\n".join(_types(document["components"]["schemas"])) + "\n",
        "queries.ts": "\n".join(_queries(found)) + "\n",
        "methods.ts": "\n".join(_methods(found)) + "\n",
    }


def typescript_type(schema: dict[str, Any]) -> str:
    """Return the type for a schema."""
    if "$ref" in schema:
        return reference_name(schema)
    if "anyOf" in schema:
        return " | ".join(typescript_type(each) for each in schema["anyOf"])
    if "enum" in schema:
        return " | ".join(json.dumps(each) for each in schema["enum"])
    if schema["type"] == "array":
        item = typescript_type(schema["items"])
        return f"{item}[]" if "|" not in item else f"({item})[]"
    if "const" in schema:
        return json.dumps(schema["const"])
    if schema["type"] == "object":
        texts = schema.get("additionalProperties", True) not in (True, False)
        return "Record<string, string>" if texts else "Record<string, unknown>"
    return _SCALARS[schema["type"]]


def _values(schemas: dict[str, Any]) -> Iterator[str]:
    yield _NOTICE
    for name, schema in schemas.items():
        if "enum" in schema:
            yield from _comment(schema.get("description"), "")
            yield f"export type {name} ="
            yield "\n".join(f"  | {json.dumps(each)}" for each in schema["enum"]) + ";\n"


def _types(schemas: dict[str, Any]) -> Iterator[str]:
    models = {name: each for name, each in schemas.items() if "enum" not in each and name not in _UNUSED}
    lines: list[str] = []
    for name, schema in models.items():
        if "anyOf" in schema:
            lines += [*_comment(schema.get("description"), ""), f"export type {name} = {typescript_type(schema)};\n"]
            continue
        required = schema.get("required", ())
        fields = [Field(key, key, each, key in required) for key, each in schema["properties"].items()]
        lines += [*_comment(schema.get("description"), ""), *_interface(name, fields)]
    yield _NOTICE
    yield from _import({name for name in schemas if "enum" in schemas[name]}, "\n".join(lines), "./values.js")
    yield from lines


def _queries(found: list[Operation]) -> Iterator[str]:
    lines: list[str] = []
    for each in found:
        if each.query:
            lines += [f"/** Parameters of `{camel_case(each.name)}`. */", *_interface(_query_type(each), each.query)]
    yield _NOTICE
    names = {component for each in found for field in each.query if (component := _component(field.schema))}
    yield from _import(names, "\n".join(lines), "./values.js")
    yield from lines


def _component(schema: dict[str, Any]) -> str | None:
    return reference_name(schema) if "$ref" in schema else None


def _import(names: set[str], text: str, source: str) -> Iterator[str]:
    """Yield the import of those names that occur in a text."""
    yield "import type {"
    yield from (f"  {name}," for name in sorted(names) if re.search(rf"\b{name}\b", text))
    yield f'}} from "{source}";\n'


def _interface(name: str, fields: list[Field]) -> Iterator[str]:
    yield f"export interface {name} {{"
    for field in fields:
        yield from _comment(field.schema.get("description"), "  ")
        yield f"  {field.name}{'' if field.required else '?'}: {typescript_type(field.schema)};"
    yield "}\n"


def _comment(text: str | None, indent: str) -> Iterator[str]:
    if text is not None:
        yield f"{indent}/** {text} */"


def _query_type(each: Operation) -> str:
    name = camel_case(each.name)
    return f"{name[0].upper()}{name[1:]}Query"


def _methods(found: list[Operation]) -> Iterator[str]:
    text = "\n".join(line for each in found for line in _method(each))
    names = {each.result for each in found} | {each.item for each in found} | {each.body_type for each in found}
    queries = {_query_type(each) for each in found if each.query}
    yield _NOTICE
    yield 'import { segment, Transport, type PostOptions, type RequestOptions } from "./transport.js";'
    yield from _import(queries, text, "./queries.js")
    yield from _import({name for name in names if name}, text, "./types.js")
    yield "/** One method for each operation of the API. */"
    yield "export class MerchantMethods extends Transport {"
    yield text.rstrip("\n")
    yield "}"


def _method(each: Operation) -> Iterator[str]:
    path = each.path
    for field in each.path_fields:
        path = path.replace(f"{{{field.name}}}", f"${{segment({camel_case(field.argument)})}}")
    target = f"`{path}`" if each.path_fields else f'"{path}"'
    arguments = [f"{camel_case(field.argument)}: {typescript_type(field.schema)}" for field in each.path_fields]
    name = camel_case(each.name)
    yield f"  /** {each.summary}. */"
    if each.query:
        arguments.append(f"query: {_query_type(each)} = {{}}")
    sent_query = "query" if each.query else "{}"
    if each.result is None:
        call = f"this.stream({target}, {sent_query}, options)"
        yield from _definition(name, arguments, "RequestOptions", "AsyncIterable<string>", call)
    elif each.method == "POST":
        if each.body_type is not None:
            default = "" if any(field.required for field in each.body) else " = {}"
            arguments.append(f"body: {each.body_type}{default}")
        sent = "body" if each.body_type is not None else "{}"
        call = f"this.post({target}, {sent}, options)"
        options = "PostOptions" if each.has_key else "RequestOptions"
        yield from _definition(name, arguments, options, f"Promise<{each.result}>", call)
    else:
        accepted = ", true" if each.accepts_503 else ""
        call = f"this.get({target}, {sent_query}, options{accepted})"
        yield from _definition(name, arguments, "RequestOptions", f"Promise<{each.result}>", call)
    if each.item is not None:
        yield f"  /** Iterate over all pages of `{name}`; `limit` is the size of a page. */"
        arguments[-1] = f'query: Omit<{_query_type(each)}, "cursor"> = {{}}'
        iterated = re.sub("^(list|get)", "iter", name)
        call = f"this.iterate({target}, query, options)"
        yield from _definition(iterated, arguments, "RequestOptions", f"AsyncIterable<{each.item}>", call)


def _definition(name: str, arguments: list[str], options: str, result: str, call: str) -> Iterator[str]:
    yield f"  {name}({', '.join([*arguments, f'options: {options} = {{}}'])}): {result} {{"
    yield f"    return {call};"
    yield "  }\n"
