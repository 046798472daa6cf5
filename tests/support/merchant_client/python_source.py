"""Sources of the Python client: the types, and the methods of both clients."""

import re
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

from merchant_client.operations import Field, Operation, operations, ordered, reference_name, used_schemas

_NOTICE = "`make merchant-client` generates this file from the OpenAPI document of the service."
_SCALARS = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}
_KEY = "idempotency_key: str | None = None"
# Types and paths of the administration, in files of their own.
_ADMINISTRATION_TYPES = ("ApiKey", "Delivery", "Statistics", "DayStatistics", "Webhook")
_ADMINISTRATION_PATHS = ("/v1/api-keys", "/v1/deliveries", "/v1/statistics", "/v1/webhooks")


def python_sources(document: dict[str, Any]) -> dict[str, str]:
    """Return the formatted sources by file name."""
    all_operations = list(operations(document))
    schemas = used_schemas(all_operations, document["components"]["schemas"])
    return {
        "values.py": _formatted(_values(schemas)),
        "types.py": _formatted(_types(schemas)),
        "administration.py": _formatted(_module("administration", "the administration", schemas)),
        "health.py": _formatted(_module("health", "the health check", schemas)),
        "iterators.py": _formatted(_iterators(all_operations, schemas, "")),
        "async_iterators.py": _formatted(_iterators(all_operations, schemas, "async ")),
        "administration_methods.py": _formatted(_administration_methods(all_operations, schemas, "")),
        "async_administration_methods.py": _formatted(_administration_methods(all_operations, schemas, "async ")),
        "methods.py": _formatted(_methods(all_operations, schemas, "")),
        "async_methods.py": _formatted(_methods(all_operations, schemas, "async ")),
    }


def python_type(schema: dict[str, Any], *, sequence: bool = False) -> str:
    """Return the annotation for a schema. Arrays of arguments are sequences."""
    if "$ref" in schema:
        return reference_name(schema)
    if "anyOf" in schema:
        return " | ".join(python_type(each, sequence=sequence) for each in schema["anyOf"])
    if "enum" in schema:
        return f"Literal[{', '.join(repr(each) for each in schema['enum'])}]"
    if schema["type"] == "array":
        return f"{'Sequence' if sequence else 'list'}[{python_type(schema['items'])}]"
    if "const" in schema:
        return f"Literal[{schema['const']!r}]"
    if schema["type"] == "object":
        texts = schema.get("additionalProperties", True) not in (True, False)
        return "dict[str, str]" if texts else "dict[str, Any]"
    return _SCALARS[schema["type"]]


def _values(schemas: dict[str, Any]) -> Iterator[str]:
    yield f'"""Values of states and codes.\n\n{_NOTICE}\n"""\n'
    yield "from typing import Literal, TypeAlias\n"
    for name, schema in schemas.items():
        if "enum" in schema:
            yield f"{name}: TypeAlias = {python_type(schema)}"
            if "description" in schema:
                yield f'"""{schema["description"]}"""'


def _types(schemas: dict[str, Any]) -> Iterator[str]:
    yield f'"""Types of requests and responses.\n\n{_NOTICE}\n"""\n'
    yield "from typing import Any, Literal, NotRequired, TypeAlias, TypedDict\n"
    yield f"from foreseal.merchant.values import {', '.join(name for name in schemas if 'enum' in schemas[name])}\n"
    yield from _classes({name: schema for name, schema in schemas.items() if _module_of(name) == "types"})


def _module(module: str, topic: str, schemas: dict[str, Any]) -> Iterator[str]:
    yield f'"""Types of {topic}.\n\n{_NOTICE}\n"""\n'
    yield "from typing import Any, Literal, NotRequired, TypeAlias, TypedDict\n"
    own_schemas = {name: schema for name, schema in schemas.items() if _module_of(name) == module}
    text = "\n".join(_classes(own_schemas))
    yield from _imports(schemas, text)
    yield f"\n{text}"


def _module_of(name: str) -> str:
    if name.endswith("Health"):
        return "health"
    return "administration" if name.startswith(_ADMINISTRATION_TYPES) else "types"


def _imports(schemas: dict[str, Any], text: str) -> Iterator[str]:
    """Yield the imports of the types that a text uses and does not define."""
    used = [
        name
        for name in sorted(schemas)
        if re.search(rf"\b{name}\b", text) and not re.search(rf"^class {name}\b", text, re.MULTILINE)
    ]
    modules: dict[str, list[str]] = {}
    for name in used:
        module = "values" if "enum" in schemas[name] else _module_of(name)
        modules.setdefault(module, []).append(name)
    for module, names in modules.items():
        yield f"from foreseal.merchant.{module} import {', '.join(names)}"


def _classes(schemas: dict[str, Any]) -> Iterator[str]:
    described: set[tuple[str, str]] = set()
    for name, schema in schemas.items():
        if "anyOf" in schema:
            yield f'{name}: TypeAlias = "{python_type(schema)}"'
            yield f'"""{schema["description"]}"""'
        elif "enum" not in schema:
            yield f'class {name}(TypedDict):\n    """{schema["description"]}"""\n'
            for field, inner in schema["properties"].items():
                required = field in schema.get("required", ())
                yield f"    {field}: {_quoted(python_type(inner), required)}"
                # Many types have the same field; its first occurrence is described.
                if "description" in inner and (field, inner["description"]) not in described:
                    described.add((field, inner["description"]))
                    yield f'    """{inner["description"]}"""'
            yield ""


def _quoted(kind: str, required: bool) -> str:
    # A class may refer to a later one.
    text = kind if required else f"NotRequired[{kind}]"
    return (
        text
        if kind in {"str", "int", "bool", "str | None", "int | None", "dict[str, Any]", "dict[str, str]"}
        else f'"{text}"'
    )


def _iterators(all_operations: list[Operation], schemas: dict[str, Any], prefix: str) -> Iterator[str]:
    kind, transport = ("n async", "AsyncTransport") if prefix else (" blocking", "Transport")
    yield f'"""Iteration over lists by a{kind} client.\n\n{_NOTICE}\n"""\n'
    iterator = "AsyncIterator" if prefix else "Iterator"
    yield f"from collections.abc import {iterator}\nfrom typing import Literal\n"
    yield f"from foreseal.merchant.{'async_transport' if prefix else 'transport'} import {transport}, segment"
    text = "\n".join(line for each in all_operations for line in _iteration(each, iterator))
    yield from _imports(schemas, text)
    yield f"\nclass {'Async' if prefix else ''}PageIterators({transport}):"
    yield '    """One method for each list of the API."""\n'
    yield text


def _methods(all_operations: list[Operation], schemas: dict[str, Any], prefix: str) -> Iterator[str]:
    rest = [each for each in all_operations if not each.path.startswith(_ADMINISTRATION_PATHS)]
    bases = "administration_methods", "AdministrationMethods"
    yield from _method_class(rest, schemas, prefix, "MerchantMethods", bases, "operation")


def _administration_methods(all_operations: list[Operation], schemas: dict[str, Any], prefix: str) -> Iterator[str]:
    some = [each for each in all_operations if each.path.startswith(_ADMINISTRATION_PATHS)]
    bases = "iterators", "PageIterators"
    yield from _method_class(some, schemas, prefix, "AdministrationMethods", bases, "operation of the administration")


def _method_class(
    own_operations: list[Operation],
    schemas: dict[str, Any],
    prefix: str,
    name: str,
    base: tuple[str, str],
    subject: str,
) -> Iterator[str]:
    kind = "n async" if prefix else " blocking"
    yield f'"""Methods of a{kind} client, one for each {subject}.\n\n{_NOTICE}\n"""\n'
    iterator, module, parent = "Iterator", *base
    if prefix:
        iterator, module, parent = "AsyncIterator", f"async_{module}", f"Async{parent}"
    yield f"from collections.abc import {iterator}, Sequence\nfrom typing import Literal\n"
    yield f"from foreseal.merchant.{module} import {parent}"
    yield f"from foreseal.merchant.{'async_transport' if prefix else 'transport'} import segment"
    text = "\n".join(line for each in own_operations for line in _method(each, prefix, iterator))
    yield from _imports(schemas, text)
    yield f"\nclass {'Async' if prefix else ''}{name}({parent}):"
    yield f'    """One method for each {subject}."""\n'
    yield text


def _target(each: Operation) -> str:
    path = each.path
    for field in each.path_fields:
        path = path.replace(f"{{{field.name}}}", f"{{segment({field.argument})}}")
    return f'f"{path}"' if each.path_fields else f'"{path}"'


def _method(each: Operation, prefix: str, iterator: str) -> Iterator[str]:
    target = _target(each)
    fields = ordered(each.body if each.method == "POST" else each.query)
    content = _mapping(fields)
    wait = "await " if prefix else ""
    if each.result is None:
        yield from _signature(each.name, each, fields, f"{iterator}[str]", "", f"{each.summary}, in chunks of text.")
        yield f"        return self._stream({target}, {content})\n"
    elif each.method == "POST":
        yield from _signature(each.name, each, fields, each.result, prefix, f"{each.summary}.")
        key = "idempotency_key" if each.has_key else "None"
        yield f"        return {wait}self._post({each.result}, {target}, {content}, {key})\n"
    else:
        accepted = ", accepts_503=True" if each.accepts_503 else ""
        yield from _signature(each.name, each, fields, each.result, prefix, f"{each.summary}.")
        yield f"        return {wait}self._get({each.result}, {target}, {content}{accepted})\n"


def _iteration(each: Operation, iterator: str) -> Iterator[str]:
    """Yield the method that iterates over all pages of a list."""
    if each.item is not None:
        rest = [field for field in ordered(each.query) if field.name != "cursor"]
        name = re.sub("^(list|get)_", "iter_", each.name)
        document = f"Iterate over all pages of `{each.name}`; `limit` is the size of a page."
        yield from _signature(name, each, rest, f"{iterator}[{each.item}]", "", document)
        yield f"        return self._iterate({each.item}, {_target(each)}, {_mapping(rest)})\n"


def _signature(
    name: str, each: Operation, fields: list[Field], result: str, prefix: str, document: str
) -> Iterator[str]:
    arguments = [f"{field.argument}: {python_type(field.schema)}" for field in each.path_fields]
    keywords = [_keyword(field) for field in fields] + ([_KEY] if each.has_key else [])
    if keywords:
        arguments += ["*", *keywords]
    yield f"    {prefix}def {name}({', '.join(['self', *arguments])}) -> {result}:"
    yield f'        """{document}"""'


def _mapping(fields: list[Field]) -> str:
    pairs = [f'"{field.name}": {field.argument}' for field in fields]
    return f"{{{', '.join(pairs)}}}"


def _keyword(field: Field) -> str:
    kind = python_type(field.schema, sequence=True)
    if field.required:
        return f"{field.argument}: {kind}"
    return f"{field.argument}: {kind if kind.endswith('| None') else kind + ' | None'} = None"


def _formatted(lines: Iterator[str]) -> str:
    command = [sys.executable, "-m", "ruff"]
    text = "\n".join(lines)
    for arguments in (["check", "--fix", "--quiet", "--select", "I,F401,UP"], ["format", "--quiet"]):
        run = subprocess.run(
            [*command, *arguments, "--stdin-filename", "python/foreseal/merchant/generated.py", "-"],
            input=text,
            capture_output=True,
            text=True,
            check=True,
        )
        text = run.stdout
    return text
