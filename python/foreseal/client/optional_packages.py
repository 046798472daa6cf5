"""Optional packages that only the client needs."""

import importlib
from types import ModuleType


def import_optional(name: str) -> ModuleType:
    """Import a package. Raise ImportError, which names the package to install."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        package = name.partition(".")[0]
        raise ImportError(
            f"foreseal.client requires the package {package}: pip install 'foreseal[client]'", name=name
        ) from error
