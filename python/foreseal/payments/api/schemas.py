"""JSON Schemas of requests and responses, generated from their types (OpenAPI 3.1: JSON Schema 2020-12)."""

from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaMode, JsonSchemaValue
from pydantic_core import core_schema

Schema = Mapping[str, Any]

_REFERENCE = "#/components/schemas/"


class _SchemaGenerator(GenerateJsonSchema):
    """Generator of schemas without redundant titles; a response has no other properties than its type."""

    def get_defs_ref(self, core_mode_ref: Any) -> Any:
        # A reference is a class and its identity. The suffix of a view is not part of its public name.
        reference, mode = core_mode_ref
        return super().get_defs_ref((reference.replace("View:", ":"), mode))

    def field_title_should_be_set(self, schema: object) -> bool:
        return False

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> JsonSchemaValue:
        # An absent field and null are the same.
        absent = schema.get("default", ...) is None
        return self.generate_inner(schema["schema"]) if absent else super().default_schema(schema)

    def typed_dict_schema(self, schema: core_schema.TypedDictSchema) -> JsonSchemaValue:
        object_schema = {"additionalProperties": False} | super().typed_dict_schema(schema)
        del object_schema["title"]
        return object_schema


class Schemas:
    """Schemas of types: components by name, and references to them."""

    def __init__(self, types: Iterable[Any]) -> None:
        adapters: list[tuple[object, JsonSchemaMode, TypeAdapter[object]]] = [
            (each, "validation", TypeAdapter(each)) for each in dict.fromkeys(types)
        ]
        references, definitions = TypeAdapter.json_schemas(
            adapters, ref_template=_REFERENCE + "{model}", schema_generator=_SchemaGenerator
        )
        self._references = {type_: schema for (type_, _), schema in references.items()}
        self.components: dict[str, Schema] = definitions["$defs"]

    def reference(self, type_: object) -> Schema:
        """Return the reference to a type's component."""
        return self._references[type_]

    def component(self, type_: object) -> Schema:
        """Return a type's component."""
        return self.components[self._references[type_]["$ref"].removeprefix(_REFERENCE)]
