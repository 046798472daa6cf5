"""The commands of the tutorial, executed in order in one shell."""

import re
from pathlib import Path

import orjson

from distribution.guide import GuideReader
from repository import DOCS


def test_the_tutorial_leads_to_a_preconfirmed_payment(tmp_path: Path) -> None:
    reader = GuideReader(tmp_path)
    try:
        reader.follow(DOCS / "get-started" / "tutorial.md")
        codes = reader.stop()
    finally:
        reader.kill()
    assert codes == [0, 0, 0]
    printed = list(reader.printed.items())
    [pending] = [text for command, text in printed if "eth_getBlockByNumber" in command]
    response = orjson.loads(pending)
    assert "result" in response, pending
    block = response["result"]
    assert [name for name in ("hash", "stateRoot", "receiptsRoot") if not int(block[name], 16)] == []
    [transfer] = [text for command, text in printed if "transfer.py" in command]
    found = re.fullmatch(r"in block (\d+) after [\d.]+ s; latest is (\d+)\n", transfer)
    assert found
    assert int(found[1]) > int(found[2]), "the receipt is of a block that is not sealed yet"
    order = orjson.loads(printed[-1][1])["order"]
    assert (order["state"], order["amount"]) == ("Used, captured", "12340000")
