"""The generated sources of the Python client equal what the OpenAPI document of the service yields."""

import pytest

from merchant_client.generate import generated_sources
from merchant_client.names import METHODS, OMITTED
from merchant_client.operations import load_document, operations


def test_sources_are_generated_from_the_current_document() -> None:
    sources = generated_sources()
    assert {path.name for path in sources} >= {"types.py", "values.py", "methods.py", "async_methods.py"}
    stale = [path.name for path, text in sources.items() if not path.exists() or path.read_text() != text]
    assert not stale, "run `make merchant-client`"


def test_every_operation_has_a_method() -> None:
    document = load_document()
    ids = {each["operationId"] for methods in document["paths"].values() for each in methods.values()}
    assert ids == METHODS.keys() | OMITTED


def test_operation_without_a_name_is_an_error() -> None:
    document = load_document()
    document["paths"]["/v1/balance"]["get"]["operationId"] = "get_new"
    with pytest.raises(KeyError, match="get_new"):
        list(operations(document))
