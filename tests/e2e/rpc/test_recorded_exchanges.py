"""The recorded exchanges of the execution API, over HTTP, against a node with their chain."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from command import foreseal
from live import LiveNode
from live_node import shared

# Samples for which the specification or the conventions require another response, with the reason.
OTHERWISE = {
    "filter-error-invalid-blockHash-and-range.io": "spec.md: blockHash makes the range ignored",
}
# In a sample with this note only the shape of the recorded response counts.
FORM_ONLY = "speconly: client response is only checked for schema validity"


class Exchange(NamedTuple):
    """A request and its response."""

    file: str
    request: bytes
    response: Any


def exchanges() -> Iterator[Exchange]:
    """Yield all exchanges except `OTHERWISE`."""
    folder = shared("execution-apis")
    for method in sorted(path.name for path in folder.iterdir() if path.is_dir()):
        for path in sorted((folder / method).glob("*.io")):
            text = path.read_text()
            if path.name in OTHERWISE or FORM_ONLY in text:
                continue
            lines = text.splitlines()
            requests = [line[3:] for line in lines if line.startswith(">> ")]
            responses = [line[3:] for line in lines if line.startswith("<< ")]
            assert len(requests) == len(responses) > 0
            for request, response in zip(requests, responses, strict=True):
                yield Exchange(f"{method}/{path.name}", request.encode(), json.loads(response))


def without_message(response: Any) -> Any:
    """Return a response without its error message, which differs between nodes."""
    if "error" in response:
        return response | {"error": {name: value for name, value in response["error"].items() if name != "message"}}
    return response


def test_every_exchange_is_answered_as_recorded(serving: LiveNode) -> None:
    recordings = list(exchanges())
    for exchange in recordings:
        answer = serving.rpc.post(exchange.request)
        assert (answer.status, answer.headers["content-type"]) == (200, "application/json")
        assert without_message(answer.json()) == without_message(exchange.response), exchange.file
    methods = {exchange.file.partition("/")[0] for exchange in recordings}
    print(f"\n{len(recordings)} exchanges of {len(methods)} methods answered as recorded")
    assert len(recordings) >= 19


def test_batched_exchanges_are_answered_as_recorded(serving: LiveNode) -> None:
    recordings = [exchange for exchange in exchanges() if b"eth_sendRawTransaction" not in exchange.request]
    answers = serving.rpc.post(b"[" + b",".join(exchange.request for exchange in recordings) + b"]").json()
    for exchange, answer in zip(recordings, answers, strict=True):
        assert without_message(answer) == without_message(exchange.response), exchange.file


def test_last_imported_block_is_final_and_no_block_is_lost(serving: LiveNode) -> None:
    status = serving.rpc("foreseal_status")
    assert (status["latest"], status["safe"], status["finalized"], status["block"]) == ("0x36", "0x36", "0x36", "0x37")
    assert (status["phase"], status["producing"]) == ("serving", False)
    assert status["pool"]["start"] != "lost in crash", "an import is no crash"


def test_exported_blocks_rebuild_the_same_chain(tmp_path: Path) -> None:
    sample = shared("execution-apis")
    genesis = ("--genesis", sample / "genesis.json")
    first = foreseal("import", "--datadir", tmp_path / "first", *genesis, sample / "chain.rlp")
    assert foreseal("export", "--datadir", tmp_path / "first", tmp_path / "out.rlp").returncode == 0
    second = foreseal("import", "--datadir", tmp_path / "second", *genesis, tmp_path / "out.rlp")
    assert (second.returncode, second.stdout) == (0, first.stdout)
