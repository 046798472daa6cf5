"""The document of rpc.discover: valid OpenRPC, and consistent with real requests and responses.

`package.json` pins OpenRPC's own meta-schema and the JSON Schema that it references. The schemas of parameters and
results are checked against the recorded exchanges of the execution API.
"""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft7Validator
from jsonschema.protocols import Validator
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT7

from foreseal.testing import Chain
from live_node import shared
from npm import find_node, install

HERE = Path(__file__).parent
READ = """
const plain = (module) => module.openrpcDocument ?? module.default ?? module;
process.stdout.write(JSON.stringify({
    "https://meta.open-rpc.org/": plain(require("@open-rpc/meta-schema")),
    "https://meta.json-schema.tools/": plain(require("@json-schema-tools/meta-schema")),
    "old": plain(require("meta-schema-of-2021")),
}));
"""
OPENRPC = "https://meta.open-rpc.org/"


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    with Chain() as chain:
        description: dict[str, Any] = chain.rpc("rpc.discover")
    return description


@pytest.fixture(scope="module")
def schemas() -> dict[str, Any]:
    """Return the meta-schemas by URI, and the older one that many tools have as `old`."""
    node = find_node()
    install(HERE)
    read = subprocess.run([node, "-e", READ], cwd=HERE, capture_output=True, text=True, check=True)
    by_uri: dict[str, Any] = json.loads(read.stdout)
    return by_uri


@pytest.fixture(scope="module")
def openrpc(schemas: dict[str, Any]) -> Validator:
    """Return the validator of documents, by the meta-schema."""
    resources = [
        (uri, Resource(contents=schema, specification=DRAFT7)) for uri, schema in schemas.items() if uri != "old"
    ]
    # They reference each other with and without the trailing slash.
    resources += [(uri.rstrip("/"), resource) for uri, resource in resources]
    return Draft7Validator(schemas[OPENRPC], registry=Registry().with_resources(resources))


def test_new_and_old_tools_know_the_version(document: dict[str, Any], schemas: dict[str, Any]) -> None:
    for schema in (schemas[OPENRPC], schemas["old"]):
        known = schema["properties"]["openrpc"]
        known = schema["definitions"][known["$ref"].rpartition("/")[2]] if "$ref" in known else known
        assert document["openrpc"] in known["enum"]


def test_the_document_is_valid_openrpc(document: dict[str, Any], openrpc: Validator) -> None:
    assert [f"{error.json_path}: {error.message}" for error in openrpc.iter_errors(document)] == []


@pytest.mark.parametrize(
    "damage",
    [
        {"openrpc": "9.9.9"},
        {"info": {"title": "Foreseal"}},
        {"methods": [{"params": []}]},
        {"methods": [{"name": "eth_chainId", "params": [{"name": "block"}]}]},
        {"methods": [{"name": "eth_chainId", "params": [{"name": "block", "schema": {"type": "no type"}}]}]},
        {"components": {"schemas": {"Block": {"anyOf": "Hash"}}}},
    ],
)
def test_a_damaged_document_is_not_valid(document: dict[str, Any], openrpc: Validator, damage: dict[str, Any]) -> None:
    assert not openrpc.is_valid(document | damage)


class Schemas:
    """The document's parameters and results of each method."""

    def __init__(self, document: dict[str, Any]) -> None:
        self._methods = {method["name"]: method for method in document["methods"]}
        self._components = document["components"]

    def faults_of_params(self, method: str, params: list[Any]) -> list[str]:
        """Return the faults of the parameters, by position; an optional one may be null."""
        described = self._methods[method]["params"]
        faults = [f"{len(params)} of at most {len(described)} arguments"] * (len(params) > len(described))
        for value, argument in zip(params, described, strict=False):
            if value is not None or argument["required"]:
                faults += self._faults(argument["schema"], value)
        missing = described[len(params) :]
        return faults + [f"{argument['name']} is missing" for argument in missing if argument["required"]]

    def faults_of_result(self, method: str, result: Any) -> list[str]:
        """Return the faults of a result."""
        return self._faults(self._methods[method]["result"]["schema"], result)

    def _faults(self, schema: dict[str, Any], value: Any) -> list[str]:
        validator = Draft7Validator({"allOf": [schema], "components": self._components})
        return [f"{error.json_path}: {error.message}" for error in validator.iter_errors(value)]


def _exchanges() -> Iterator[tuple[str, list[Any], dict[str, Any]]]:
    """Yield method, parameters and response of each recorded exchange."""
    for file in sorted(shared("execution-apis").glob("*/*.io")):
        lines = file.read_text().splitlines()
        requests = [json.loads(line[3:]) for line in lines if line.startswith(">> ")]
        responses = [json.loads(line[3:]) for line in lines if line.startswith("<< ")]
        for request, response in zip(requests, responses, strict=True):
            yield request["method"], request.get("params") or [], response


LENIENT = {
    # The execution API allows omitting the block, the specification of Foreseal does not.
    ("eth_getStorageAt", "block is missing"),
    ("eth_getTransactionCount", "block is missing"),
}


def test_recorded_requests_and_results_fit_the_schemas(document: dict[str, Any]) -> None:
    schemas, fits, refused = Schemas(document), 0, 0
    for method, params, response in _exchanges():
        faults = schemas.faults_of_params(method, params)
        if "result" in response:
            assert [fault for fault in faults if (method, fault) not in LENIENT] == [], f"{method} {params}"
            assert schemas.faults_of_result(method, response["result"]) == [], f"{method} {params}"
            fits += 1
        elif response["error"]["code"] == -32602 and faults:
            refused += 1
    assert fits >= 30
    assert refused >= 2


def test_wrong_values_do_not_fit_the_schemas(document: dict[str, Any]) -> None:
    schemas = Schemas(document)
    address, call = "0x" + "aa" * 20, {"to": "0x" + "aa" * 20}
    wrong: list[tuple[str, list[Any]]] = [
        ("eth_getBalance", ["0x01", "latest"]),
        ("eth_getBalance", [address, "newest"]),
        ("eth_getBalance", [address, "0x01"]),
        ("eth_getBalance", [address, {"blockHash": "0x01"}]),
        ("eth_getBalance", [address, {"blockNumber": "0x1", "blockHash": "0x" + "11" * 32}]),
        ("eth_getBalance", []),
        ("eth_getBlockByNumber", ["latest", "true"]),
        ("eth_call", [{"from": "0x1"}]),
        ("eth_call", [{"gasPrice": "0x1", "maxFeePerGas": "0x1"}]),
        ("eth_call", [call, "latest", {"0x01": {}}]),
        ("eth_call", [call, "latest", {address: {"state": {}, "stateDiff": {}}}]),
        ("eth_call", [call, "latest", {}, {"time": 5}]),
        ("eth_call", [call, "latest", {}, {"withdrawals": []}]),
        ("eth_getLogs", [{"topics": [None] * 5}]),
        ("foreseal_getLogs", [{"cursor": "0x"}]),
        ("eth_simulateV1", [{"blockStateCalls": []}]),
        ("eth_simulateV1", [{"blockStateCalls": [{"calls": [{"gas": 5}]}]}]),
        ("debug_traceTransaction", ["0x" + "11" * 32, {"tracer": "opcountTracer"}]),
        ("debug_traceTransaction", ["0x" + "11" * 32, {"limit": -1}]),
        ("debug_traceCall", [call, "latest", {"txIndex": 0}]),
        ("debug_traceCall", [call, "latest", {"tracerConfig": {"withLog": "yes"}}]),
        ("eth_getStorageValues", [{address: "0x0"}]),
        ("eth_feeHistory", ["0x1", "latest", [101]]),
    ]
    assert [(method, params) for method, params in wrong if not schemas.faults_of_params(method, params)] == []
