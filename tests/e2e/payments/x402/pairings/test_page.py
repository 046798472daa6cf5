"""The examples of docs/merchants/buying.md, unchanged except for URLs, paths and keys."""

import contextlib
import io
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from foreseal.cli.pay import pay_group
from payments.x402.pairings.facilitators import FACILITATORS
from payments.x402.pairings.servers import SERVERS
from payments.x402.pairings.serving import sealed
from payments.x402.world import BUYERS, World
from repository import ROOT

BLOCK = re.compile(r"```(python|sh)\n(.*?)```", re.DOTALL)


@pytest.fixture
def seller(node_of_x402: World, tmp_path: Path) -> Iterator[str]:
    sealed(node_of_x402)
    with (
        FACILITATORS["ours"](node_of_x402, tmp_path) as settles,
        SERVERS["python"](node_of_x402, settles, tmp_path) as url,
    ):
        yield url


def test_examples_of_the_page_produce_their_documented_output(
    seller: str, node_of_x402: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    places = {
        "https://api.example.com/report": f"{seller}/eip3009",
        "https://api.example.com": seller,
        "api.example.com": "127.0.0.1",
        "http://127.0.0.1:8545": node_of_x402.url,
        "0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d": "0x" + bytes(BUYERS[16].key).hex(),
    }
    names: dict[str, object] = {"__name__": "page"}
    printed = []
    for kind, text in BLOCK.findall((ROOT / "docs" / "merchants" / "buying.md").read_text()):
        for place, here in places.items():
            text = text.replace(place, here)
        if kind == "python":
            with contextlib.redirect_stdout(io.StringIO()) as said:
                exec(compile(text, "docs/merchants/buying.md", "exec"), names)
            printed.append(said.getvalue().strip())
        elif "foreseal pay" in text:
            for line in text.splitlines():
                result = CliRunner().invoke(pay_group, line.split()[2:])
                assert result.exit_code == 0, result.output
                assert "research" in result.output
    names["ledger"].database.close()  # type: ignore[attr-defined]
    first, *others, last = printed
    assert first == '200 {"from":"/eip3009"}'
    assert others == ["200", "200", "per request 1000 1", "0 3"]
    assert last.endswith("research 0x036CbD53842c5426634e7929541eC2318f3dCF7e on eip155:84532 3000 0 0")
