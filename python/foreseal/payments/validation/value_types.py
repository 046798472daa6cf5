"""Values that arrive as strings: the string is checked and converted by one function."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Annotated

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import CoreSchema, core_schema

from foreseal.payments.typed_data import address, bytes32


@dataclass(frozen=True, slots=True, eq=False)
class ParsedText:
    """Annotation of a type whose values are parsed from strings. Values of other JSON types are errors."""

    parse: Callable[[str], object]
    """Converter. Raises ValueError that describes the problem."""
    json_schema: Mapping[str, object] = field(default_factory=lambda: {"type": "string"})
    expected: str | None = None
    """Description of the string, for the error about another type; by default "a string"."""

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Return the validator."""
        text: CoreSchema = core_schema.str_schema(strict=True)
        if self.expected is not None:
            text = core_schema.custom_error_schema(
                text,
                "text_expected",
                custom_error_context={"expected": self.expected},
                custom_error_message="{expected}",
            )
        return core_schema.no_info_after_validator_function(self.parse, text)

    def __get_pydantic_json_schema__(self, _: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, object]:
        """Return the JSON Schema of the string."""
        return dict(self.json_schema)


AccountAddress = Annotated[
    str, ParsedText(lambda text: address(text, "address"), {"type": "string", "pattern": "^0x[0-9a-fA-F]{40}$"})
]
"""Account or contract, with its checksum (EIP-55)."""
Bytes32 = Annotated[
    bytes, ParsedText(lambda text: bytes32(text, "value"), {"type": "string", "pattern": "^(0x)?[0-9a-fA-F]{64}$"})
]
"""32 bytes from hexadecimal text."""
