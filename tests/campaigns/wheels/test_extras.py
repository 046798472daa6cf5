"""The wheel with each extra alone: every import and every help; `FORESEAL_EXTRAS=all` adds the guides of the extras."""

import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import orjson
import pytest

from architecture.python_imports import module_files
from architecture.third_party import EXTRAS, extra_of
from distribution.clean import CleanEnvironment
from distribution.guide import GuideReader
from distribution.help_results import EXTRA_OF_COMMAND, SCRIPT, check_results
from distribution.pages import blocks
from distribution.x402_guides import BUYER, follow_x402_guides
from live import DEV_ACCOUNTS, LiveNode
from live.process import FAST, stopping
from live.sending import signed
from repository import DOCS, ROOT

pytestmark = pytest.mark.timeout(900)

MODULES = module_files(ROOT / "python")
FOLLOW_GUIDES = os.environ.get("FORESEAL_EXTRAS") == "all"
# Names that the examples of the client guide use.
NAMES = """
from foreseal.client import Cursor
url, ws_url, signed = {url!r}, {ws_url!r}, {signed!r}
saved = Cursor(0, 0, {genesis!r})
"""


def follow_first_start(clean: CleanEnvironment, _folder: Path) -> None:
    with stopping(LiveNode(clean.isolated(clean.command, "dev", "--payments", "--port", "0", *FAST))) as node:
        assert node.rpc("eth_chainId") == hex(31337)


def follow_client_guide(clean: CleanEnvironment, folder: Path) -> None:
    with stopping(LiveNode(clean.isolated(clean.command, "dev", "--port", "0", *FAST))) as node:
        names = NAMES.format(
            url=node.url,
            ws_url=node.url.replace("http", "ws"),
            signed=[signed(DEV_ACCOUNTS[0], nonce) for nonce in range(2)],
            genesis=node.rpc("eth_getBlockByNumber", "0x0", False)["hash"],
        )
        examples = [block.text for block in blocks(DOCS / "build" / "client.md") if block.language == "python"]
        script = folder / "guide.py"
        script.write_text(names + "\n".join(examples))
        printed = clean.run([str(clean.bin / "python"), str(script)]).splitlines()
    assert re.fullmatch(r"True \d+ 21000", printed[0])
    assert printed[-1] == "[(1, 1), (2, 0)]"


def follow_testing_guide(clean: CleanEnvironment, folder: Path) -> None:
    example = folder / "test_example.py"
    [example_text] = [block.text for block in blocks(DOCS / "build" / "testing.md") if "def test_" in block.text]
    example.write_text(example_text)
    assert "1 passed" in clean.run([str(clean.bin / "python"), "-m", "pytest", "-q", str(example)], folder)


def follow_service_guide(clean: CleanEnvironment, folder: Path) -> None:
    assert clean.has("curl"), "the page needs curl"
    reader = GuideReader(folder, clean.variables)
    try:
        reader.follow(DOCS / "merchants" / "service.md")
        codes = reader.stop()
    finally:
        reader.kill()
    assert codes == [0, 0]
    [timeline] = [text for command, text in reader.printed.items() if "/v1/orders/7/timeline" in command]
    assert orjson.loads(timeline)["items"][-1]["data"]["object"]["state"] == "Used, captured"


def follow_selling_and_buying(clean: CleanEnvironment, folder: Path) -> None:
    (first, *others, last), spent = follow_x402_guides(clean, folder)
    assert first == f'200 {{"for":"{BUYER.address}"}}'
    assert others == ["200", "200", "per request 1000 1", "0 3"]
    assert last.endswith(" 3000 0 0")
    assert BUYER.address in spent
    assert "research" in spent


@dataclass(frozen=True, slots=True)
class Installation:
    """An installation of the wheel with at most one extra."""

    extra: str | None
    included: tuple[str, ...]
    """Other extras whose packages it has."""
    follow_guide: Callable[[CleanEnvironment, Path], None]


INSTALLATIONS = (
    Installation(None, (), follow_first_start),
    Installation("client", (), follow_client_guide),
    Installation("otlp", (), follow_first_start),
    Installation("payments", ("client",), follow_service_guide),
    Installation("testing", (), follow_testing_guide),
    Installation("x402", ("client", "payments"), follow_selling_and_buying),
)
NOT_IMPORTABLE = {"foreseal.__main__", "foreseal.payments.ledger.migrations.env"}
"""The entry point, and the environment of migrations, which Alembic executes."""
IMPORT = "import importlib; [importlib.import_module(name) for name in {names!r}]"


def test_every_extra_is_installed_alone() -> None:
    assert {installation.extra for installation in INSTALLATIONS} == {None, *EXTRAS.values()}


@pytest.mark.parametrize("installation", INSTALLATIONS, ids=lambda each: each.extra or "none")
def test_imports_helps_and_guides_work_with_one_extra(installation: Installation, wheel: Path, tmp_path: Path) -> None:
    clean = CleanEnvironment(tmp_path / "venv")
    suffix = f"[{installation.extra}]" if installation.extra else ""
    clean.install(f"foreseal{suffix} @ {wheel.as_uri()}")
    extras = {None, installation.extra, *installation.included}
    modules = {name for name in MODULES if extra_of(name) in extras} - NOT_IMPORTABLE
    assert len(modules) > 100
    clean.python(IMPORT.format(names=sorted(modules)))
    missing = sorted({*EXTRA_OF_COMMAND.values()} - extras)
    check_results(clean.run([str(clean.bin / "python"), "-P", str(SCRIPT), "--missing-extra", *missing]), missing)
    assert "serve" in clean.run([clean.command, "pay", "--help"])
    if FOLLOW_GUIDES:
        folder = tmp_path / "guide"
        folder.mkdir()
        installation.follow_guide(clean, folder)
