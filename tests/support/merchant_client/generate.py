"""All generated files of the clients."""

from pathlib import Path

from merchant_client.operations import load_document
from merchant_client.python_source import python_sources
from merchant_client.typescript_source import typescript_sources
from repository import ROOT

PYTHON = ROOT / "python" / "foreseal" / "merchant"
TYPESCRIPT = ROOT / "web" / "merchant-client" / "src"


def generated_sources() -> dict[Path, str]:
    """Return the sources by path."""
    found = load_document()
    return {
        **{PYTHON / name: text for name, text in python_sources(found).items()},
        **{TYPESCRIPT / name: text for name, text in typescript_sources(found).items()},
    }
