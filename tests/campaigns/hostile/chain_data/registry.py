"""The generators by name."""

from typing import Any

from hostile.chain_data.generator import Generator

GENERATORS: dict[str, Generator] = {}


def add(resource: str, name: str, description: str, code: bytes = b"", **fields: Any) -> None:
    """Register a generator. Raise `ValueError` if the name is used."""
    if name in GENERATORS:
        raise ValueError(f"two generators are named {name}")
    GENERATORS[name] = Generator(name, resource, description, code, **fields)
