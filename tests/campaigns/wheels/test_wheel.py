"""The wheel, installed without Rust: command, node, types, and side effects of its import."""

import shutil
import sys
import zipfile
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

import pytest

from distribution.clean import CleanEnvironment
from distribution.walkthrough import PAGES, Walkthrough
from live.process import FAST, LiveNode
from repository import ROOT

pytestmark = pytest.mark.timeout(900)

# Code for the user's type checker.
TYPED = """
from foreseal import _core, codec
from foreseal.client import Client

block: int = Client("http://127.0.0.1:8545").block_number()
digest: bytes = codec.keccak(b"")
reveal_type(_core.Node)
"""
THREADS = "import os; import {module}; print(len(os.listdir('/proc/self/task')))"


@pytest.fixture(scope="module")
def clean(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> CleanEnvironment:
    """Provide an environment with the wheel and without build tools."""
    made = CleanEnvironment(tmp_path_factory.mktemp("clean") / "venv")
    made.install(f"foreseal[client] @ {wheel.as_uri()}")
    assert not made.has("cargo")
    assert not made.has("rustc")
    return made


def test_one_wheel_serves_every_python_from_3_11_on(wheel: Path) -> None:
    name, number, python, abi, platform = wheel.stem.split("-")
    assert (name, number, python, abi) == ("foreseal", version("foreseal"), "cp311", "abi3")
    assert platform.startswith("manylinux_2_"), "any Linux with a C library as old as that, not this one alone"


def test_wheel_contains_types_and_licences_but_no_tests(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    for needed in ("foreseal/py.typed", "foreseal/_core.pyi", "foreseal/_core.abi3.so"):
        assert needed in names
    assert [name for name in names if name.rsplit("/", 1)[-1].startswith("LICENSE")]
    sources = {str(path.relative_to(ROOT / "python")) for path in (ROOT / "python").rglob("*.py")}
    assert {name for name in names if name.endswith(".py")} == sources


def test_the_command_prints_its_version(clean: CleanEnvironment) -> None:
    assert clean.run([clean.command, "--version"]).split() == ["foreseal", version("foreseal")]
    assert clean.run([str(clean.bin / "python"), "-m", "foreseal", "--version"]).split()[1] == version("foreseal")


@pytest.mark.parametrize(
    "module", ["foreseal", "foreseal._core", "foreseal.codec", "foreseal.client", "foreseal.server", "foreseal.testing"]
)
def test_importing_starts_no_thread(clean: CleanEnvironment, module: str) -> None:
    assert clean.python(THREADS.format(module=module)).strip() == "1"


def test_importing_foreseal_imports_no_third_party_package(clean: CleanEnvironment) -> None:
    code = "import sys; before = set(sys.modules); import foreseal; print(sorted(set(sys.modules) - before))"
    assert clean.python(code).strip() == "['foreseal']"


def test_type_checkers_find_the_types(clean: CleanEnvironment, tmp_path: Path) -> None:
    # mypy of the tests' environment, which has all of requirements/dev.lock.
    mypy = Path(sys.executable).with_name("mypy")
    used = tmp_path / "used.py"
    used.write_text(TYPED)
    python = str(clean.bin / "python")
    said = clean.run([str(mypy), "--strict", "--config-file=", "--python-executable", python, str(used)])
    assert 'Revealed type is "def (settings:' in said, said


@pytest.fixture(scope="module")
def node(clean: CleanEnvironment) -> Iterator[LiveNode]:
    """Run a development node of the installed command, which must stop with exit code 0."""
    node = LiveNode(clean.isolated(clean.command, "dev", "--port", "0", *FAST))
    try:
        yield node
        assert node.stop() == 0, node.printed
    finally:
        if node.process.poll() is None:
            node.kill()


def test_installed_node_returns_its_pending_block(node: LiveNode) -> None:
    block = node.rpc("eth_getBlockByNumber", "pending", False)
    assert int(block["number"], 16) >= 1
    assert int(block["hash"], 16)
    assert int(block["stateRoot"], 16)


# The test makes two environments and runs thirty commands.
@pytest.mark.timeout(1800)
def test_readme_and_guide_work_for_an_installed_wheel(wheel: Path, tmp_path: Path) -> None:
    if shutil.which("curl") is None:
        pytest.skip("curl is not on the PATH")
    with Walkthrough(tmp_path, wheel) as walk:
        for page in PAGES:
            walk.follow(ROOT / page)
    commands = " ".join(taken.command for taken in walk.taken)
    for word in (
        "foreseal dev",
        "foreseal run",
        "config check",
        "backup",
        "restore",
        "keys create",
        "--upgrade",
        "curl",
    ):
        assert word in commands
