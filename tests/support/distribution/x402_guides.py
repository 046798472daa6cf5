"""Runs docs/merchants/x402.md and docs/merchants/buying.md in an environment: node, facilitator, shop and buyer."""

import contextlib
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from distribution.clean import CleanEnvironment
from distribution.pages import blocks
from live import LiveNode
from live.accounts import dev_account, key_of
from live.process import FAST, Served, stopping
from repository import DOCS

FACILITATOR, BUYER = dev_account(2), dev_account(4)
"""Accounts of `foreseal dev --payments`."""
# Key of the buyer on the page; its account has no tokens on the development chain.
_KEY_OF_PAGE = "0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d"
_SERVE = """
from foreseal.cli.pay_serve import serve_application

app.add_route("/readyz", lambda request: JSONResponse({}))
serve_application(app, "127.0.0.1", 0, "shop")
"""


class _Facilitator(Served):
    READY = "/supported"


def _examples(page: str, language: str) -> list[str]:
    examples = [block.text for block in blocks(DOCS / "merchants" / page) if block.language == language]
    assert examples, f"{page} has no {language} block"
    return examples


def _replaced(text: str, replacements: Mapping[str, str]) -> str:
    for original, replacement in replacements.items():
        assert original in text, original
        text = text.replace(original, replacement)
    return text


@contextlib.contextmanager
def _shop(clean: CleanEnvironment, folder: Path, node: str) -> Iterator[str]:
    """Serve the shop of x402.md, with its facilitator, and provide the URL."""
    settings = _examples("x402.md", "toml")[0]
    config = folder / "pay.toml"
    config.write_text(_replaced(settings, {"http://127.0.0.1:8545": node}) + 'listen = "127.0.0.1:0"\n')
    command = clean.isolated(
        clean.command, "pay", "facilitator", "--config", str(config), FACILITATOR_KEY=key_of(FACILITATOR)
    )
    script = folder / "shop.py"
    with stopping(_Facilitator(command, folder)) as facilitator:
        replacements = {
            "http://127.0.0.1:8545": node,
            "http://127.0.0.1:8602": facilitator.url,
            # buying.md assumes one offer.
            '["$0.001", Price("$0.001", transfer_method=TransferMethod.PERMIT2)]': "Price(1000)",
        }
        # FastAPI is not part of the extra.
        examples = [text for text in _examples("x402.md", "python") if not re.search("fastapi|litestar", text)]
        script.write_text(_replaced("\n".join(examples), replacements) + _SERVE)
        with stopping(Served(clean.isolated(str(clean.bin / "python"), str(script)), folder)) as shop:
            yield shop.url


def follow_x402_guides(clean: CleanEnvironment, folder: Path) -> tuple[list[str], str]:
    """Run the examples of both pages and return the lines of the buyer and the output of `foreseal pay spent`."""
    command = clean.isolated(clean.command, "dev", "--payments", "--chain-id", "84532", "--port", "0", *FAST)
    with stopping(LiveNode(command, folder)) as node, _shop(clean, folder, node.url) as shop:
        replacements = {
            "https://api.example.com/report": f"{shop}/report/may",
            "https://api.example.com": shop,
            "api.example.com": "127.0.0.1",
            "http://127.0.0.1:8545": node.url,
            _KEY_OF_PAGE: key_of(BUYER),
        }
        script = folder / "buyer.py"
        script.write_text(_replaced("\n".join(_examples("buying.md", "python")), replacements))
        printed = clean.run([str(clean.bin / "python"), str(script)], folder)
        page = "\n".join(_examples("buying.md", "sh")).replace("http://127.0.0.1:8545", node.url)
        commands = re.findall(r"^foreseal (pay spent .*)$", page, re.MULTILINE)
        spent = [clean.run([clean.command, *command.split()], folder) for command in commands]
    return printed.splitlines(), spent[-1]
