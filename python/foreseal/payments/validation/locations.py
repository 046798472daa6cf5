"""Locations of errors: their text, and the model that contains the field."""

from collections.abc import Iterator, Sequence
from typing import get_args

from pydantic import BaseModel


def field_path(location: Sequence[int | str]) -> str:
    """Return a location as text, such as `recipients[0].amount`."""
    text = "".join(f"[{each}]" if isinstance(each, int) else f".{each}" for each in location)
    return text.removeprefix(".")


def enclosing_model(model: type[BaseModel], location: Sequence[int | str]) -> type[BaseModel]:
    """Return `model`, or the innermost model in it, that contains a location."""
    for name in location[:-1]:
        if isinstance(name, str):
            model = next(models(model.model_fields[name].annotation), model)
    return model


def models(annotation: object) -> Iterator[type[BaseModel]]:
    """Yield the models in a type, such as the items of a list."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for argument in get_args(annotation):
        yield from models(argument)
