"""All generated files of the Python client, and the OpenAPI document from which npm generates the TypeScript types."""

import json
from pathlib import Path

from merchant_client.operations import load_document
from merchant_client.python_source import python_sources
from repository import ROOT

PYTHON = ROOT / "python" / "foreseal" / "merchant"
TYPESCRIPT = ROOT / "web" / "merchant-client"
DOCUMENT = TYPESCRIPT / "openapi.json"
"""The document of the service, which git ignores."""


def generated_sources() -> dict[Path, str]:
    """Return the sources by path."""
    return {PYTHON / name: text for name, text in python_sources(load_document()).items()}


def document_text() -> str:
    """Return the JSON of the document."""
    return json.dumps(load_document(), indent=1) + "\n"
