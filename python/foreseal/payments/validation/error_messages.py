"""Sentences for the errors of pydantic: what is wrong with the value, without the name of the field."""

from collections.abc import Callable, Mapping
from typing import Any

from pydantic_core import ErrorDetails

# Maximum characters of a value in a message.
_LONGEST = 100

_SENTENCES: Mapping[str, Callable[[Any, Mapping[str, Any]], str]] = {
    "value_error": lambda value, context: str(context["error"]),
    "missing": lambda value, context: "is missing",
    "text_expected": lambda value, context: f"must be {context['expected']}, got {type(value).__name__}",
    "string_type": lambda value, context: f"{show(value)} must be a string",
    "string_pattern_mismatch": lambda value, context: f"{show(value)} must match {context['pattern']}",
    "string_too_long": lambda value, context: f"must have at most {context['max_length']} characters",
    "int_type": lambda value, context: f"{show(value)} must be a whole number",
    "bool_type": lambda value, context: f"{show(value)} must be true or false",
    "greater_than_equal": lambda value, context: f"{show(value)} must be at least {context['ge']}",
    "less_than_equal": lambda value, context: f"{show(value)} must be at most {context['le']}",
    "enum": lambda value, context: f"{show(value)} must be {context['expected']}",
    "literal_error": lambda value, context: f"{show(value)} must be {context['expected']}",
    "list_type": lambda value, context: f"{show(value)} must be a list",
    "tuple_type": lambda value, context: f"{show(value)} must be a list",
    "model_type": lambda value, context: f"must be an object, got {show(value)}",
    "model_attributes_type": lambda value, context: f"must be an object, got {show(value)}",
    "dict_type": lambda value, context: f"must be an object, got {show(value)}",
    "union_tag_not_found": lambda value, context: f"{_tag(context)} is missing",
    "union_tag_invalid": lambda value, context: (
        f"{_tag(context)} {context['tag']!r} must be {context['expected_tags']}"
    ),
    "too_short": lambda value, context: f"must have at least {_items(context['min_length'])}",
    "too_long": lambda value, context: f"must have at most {_items(context['max_length'])}",
}


def describe(error: ErrorDetails) -> str:
    """Return a sentence about the value of an error."""
    sentence = _SENTENCES.get(error["type"])
    if sentence is None:
        return error["msg"][:1].lower() + error["msg"][1:]
    return sentence(error["input"], error.get("ctx", {}))


def show(value: object) -> str:
    """Return a value as text for a message, shortened."""
    text = repr(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


def _items(number: int) -> str:
    return f"{number} item{'' if number == 1 else 's'}"


def _tag(context: Mapping[str, object]) -> str:
    return str(context["discriminator"]).strip("'")
