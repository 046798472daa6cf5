"""The commands of docs/merchants/service.md, executed in order in one shell."""

import re
from pathlib import Path

import orjson

from distribution.guide import GuideReader
from foreseal.payments.api.errors import CODES
from foreseal.payments.api.routes import ROUTES
from repository import DOCS

PAGE = DOCS / "merchants" / "service.md"


def test_the_commands_of_the_guide_work(tmp_path: Path) -> None:
    reader = GuideReader(tmp_path)
    try:
        reader.follow(PAGE)
        codes = reader.stop()
    finally:
        reader.kill()
    assert codes == [0, 0]
    said = {command.split("/v1/")[1].split()[0]: text for command, text in reader.printed.items() if "/v1/" in command}
    assert orjson.loads(said["orders/7/refunds"])["refund"]["amount"] == "2340000"
    assert orjson.loads(said["orders/7/timeline"])["items"][-1]["data"]["object"]["state"] == "Used, captured"
    assert "captured,0x" in said["export.csv"]


def test_guide_names_every_path_and_only_existing_codes() -> None:
    text = PAGE.read_text()
    for route in ROUTES:
        path = route.path.removeprefix("/v1")
        assert path in text or path.replace("/orders/{id}", "") in text or path.rpartition("/")[2] in text, path
    table = text[text.index("| 409 |") : text.index("| 413")]
    assert set(re.findall(r"`(not_\w+)`", table)) <= set(CODES)
