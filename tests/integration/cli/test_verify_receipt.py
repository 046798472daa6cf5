"""`foreseal verify-receipt`."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from foreseal.cli import verify_receipt as receipt
from foreseal.cli.main import run
from foreseal.preconfirmation import Preconfirmation
from foreseal.testing import Chain, ChainSettings

Promises = tuple[dict[str, Any], dict[str, Any], str]


@pytest.fixture(scope="module")
def promises() -> Iterator[Promises]:
    """Provide two contradictory receipts of one position, and the address of their signer."""
    with Chain(ChainSettings(accounts=2, automine=False)) as chain:
        with chain.rollback():
            first = promise(chain, 1)
        yield first, promise(chain, 2), chain.rpc("foreseal_status")["signer"]


def promise(chain: Chain, value: int) -> dict[str, Any]:
    """Return the receipt of a transfer in a separate step."""
    sender, receiver = chain.accounts
    transfer = {"from": sender.address, "to": receiver.address, "value": hex(value)}
    sent = chain.rpc("eth_sendTransaction", transfer)
    chain.step()
    return dict(chain.rpc("foreseal_preconfirmation", sent))


def written(path: Path, value: Any) -> str:
    """Write a value as JSON to a file."""
    path.write_bytes(orjson.dumps(value))
    return str(path)


def test_valid_receipt_is_accepted(promises: Promises, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    receipt, _, signer = promises
    file = written(tmp_path / "receipt.json", receipt)
    assert run(["verify-receipt", file]) == 0
    said = capsys.readouterr().out
    assert f"  signer       {signer}\n" in said
    assert f"  transaction  0 {receipt['transactionHash']}\n" in said
    assert "was not checked: pass" in said
    assert run(["verify-receipt", file, "--signer", signer, "--chain-id", "31337", "--json"]) == 0
    report = orjson.loads(capsys.readouterr().out)
    assert (report["valid"], report["signer_checked"], report["signer"]) == (True, True, signer)
    response = written(tmp_path / "response.json", {"jsonrpc": "2.0", "id": 1, "result": receipt})
    assert run(["verify-receipt", response]) == 0


@pytest.mark.parametrize(
    ("changes", "options", "words"),
    [
        ({"time": "0x1"}, [], "signature: it is not that of 0x"),
        ({}, ["--signer", "0x" + "11" * 20], "signer: 0x"),
        ({}, ["--chain-id", "1"], "chainId: it is 31337, not 1"),
        ({"hash": "0x"}, [], "hash: expected 32 bytes, got 0"),
    ],
)
def test_mismatched_receipt_is_rejected(
    promises: Promises,
    changes: dict[str, str],
    options: list[str],
    words: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    file = written(tmp_path / "receipt.json", promises[0] | changes)
    with pytest.raises(SystemExit) as ended:
        run(["verify-receipt", file, *options])
    assert ended.value.code == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith(f"foreseal: invalid receipt: {words}")
    with pytest.raises(SystemExit):
        run(["verify-receipt", file, *options, "--json"])
    report = orjson.loads(capsys.readouterr().out)
    assert (report["valid"], report["field"]) == (False, words.split(":")[0])


@pytest.mark.parametrize("text", ["", "null", "not JSON", "[1]"])
def test_input_that_is_not_a_receipt_is_rejected(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "receipt.json"
    file.write_text(text)
    with pytest.raises(SystemExit) as ended:
        run(["verify-receipt", str(file)])
    assert ended.value.code == 1
    assert "invalid receipt: receipt: " in capsys.readouterr().err
    assert run(["verify-receipt", str(tmp_path / "nowhere")]) == 2


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ({"result": None}, "must not be null: the node had no block with the transaction"),
        ({"error": {"code": -32001, "message": "nobody signed"}}, "the response is an error: nobody signed"),
    ],
)
def test_response_without_a_receipt_is_rejected(
    answer: dict[str, Any], words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = written(tmp_path / "response.json", {"jsonrpc": "2.0", "id": 1, **answer})
    with pytest.raises(SystemExit) as ended:
        run(["verify-receipt", file])
    assert ended.value.code == 1
    assert capsys.readouterr().err == f"foreseal: invalid receipt: receipt: {words}\n"
    with pytest.raises(SystemExit):
        run(["verify-receipt", file, "--json"])
    assert orjson.loads(capsys.readouterr().out)["reason"] == words


def test_conflicting_commitments_are_reported(
    promises: Promises, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one, other, signer = promises
    files = [written(tmp_path / "one.json", one), written(tmp_path / "other.json", other)]
    assert run(["verify-receipt", *files]) == 0
    assert f"{signer} equivocated: it signed two steps" in capsys.readouterr().out
    assert run(["verify-receipt", *files, "--json"]) == 0
    report = orjson.loads(capsys.readouterr().out)
    assert report["contradiction"] == "two-steps"
    assert [promise["hash"] for promise in report["promises"]] == [one["hash"], other["hash"]]
    with pytest.raises(SystemExit) as ended:
        run(["verify-receipt", files[0], files[0]])
    assert ended.value.code == 1
    assert "the receipts do not contradict each other" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        run(["verify-receipt", files[0], written(tmp_path / "bad.json", other | {"time": "0x1"})])
    assert "invalid receipt: receipt 2: signature" in capsys.readouterr().err


@pytest.mark.parametrize("time", [10**15, 2**64 - 1])
def test_out_of_range_time_is_printed_as_milliseconds(time: int, capsys: pytest.CaptureFixture[str]) -> None:
    text = "0x" + "00" * 32
    receipt._print(Preconfirmation(31337, 1, 0, text, text, time, 1, text, 0, "0x" + "11" * 20))
    assert f"made         {time} ms since 1970" in capsys.readouterr().out
