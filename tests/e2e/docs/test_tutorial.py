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
        printed = list(reader.printed.items())
        [transfer] = [command for command, _ in printed if "transfer.py" in command]
        # One receipt in ten is of the last step of its block, which may be sealed before the script asks for it.
        for _ in range(5):
            match = re.fullmatch(r"in block (\d+) after [\d.]+ s; latest is (\d+)\n", reader.printed[transfer])
            assert match
            if is_pending := int(match[1]) > int(match[2]):
                break
            reader.do(transfer)
        codes = reader.stop()
    finally:
        reader.kill()
    assert codes == [0, 0, 0]
    assert is_pending, "no receipt was of a block that is not sealed yet"
    [pending] = [text for command, text in printed if "eth_getBlockByNumber" in command]
    response = orjson.loads(pending)
    assert "result" in response, pending
    block = response["result"]
    assert [name for name in ("hash", "stateRoot", "receiptsRoot") if not int(block[name], 16)] == []
    order = orjson.loads(printed[-1][1])["order"]
    assert (order["state"], order["amount"]) == ("Used, captured", "12340000")
