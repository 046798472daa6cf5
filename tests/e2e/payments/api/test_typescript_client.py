"""The TypeScript client: its types, and with a running service its guide and typescript_client.test.mjs."""

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from distribution.pages import blocks
from foreseal.merchant import PaymentAuthorization, TokenDomain
from foreseal.payments.contracts.development import NAME, TOKEN, VERSION
from live import live_node
from live.process import stopping
from merchant_client.generate import TYPESCRIPT
from merchant_client.typescript import SECONDS, compile_types
from npm import find_node
from payments.api.serving import BUYERS, MERCHANT, HostedServing, Serving, api_key, configure, signature
from repository import DOCS

TESTS = Path(__file__).with_name("typescript_client.test.mjs")
PAGE = DOCS / "merchants" / "client.md"
EXACT = re.compile(r"\d+\.\d+\.\d+")
# The names that the examples of the guide do not define.
PRELUDE = """\
declare const process: { env: Record<string, string> };
const { url, apiKey, buyer, node } = JSON.parse(process.env["FORESEAL_SERVICE"] ?? "");

async function sign(typedData: object): Promise<string> {
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "eth_signTypedData_v4", params: [buyer, typedData] });
  const response = await fetch(node, { method: "POST", headers: { "content-type": "application/json" }, body });
  return (await response.json()).result;
}

"""


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the compiled package, without its sources; a type error fails the test."""
    folder = tmp_path_factory.mktemp("client")
    run = compile_types("--outDir", str(folder / "dist"))
    assert run.returncode == 0, run.stdout + run.stderr
    shutil.copy(TYPESCRIPT / "package.json", folder)
    (folder / "node_modules").symlink_to(TYPESCRIPT / "node_modules")
    return folder


@contextmanager
def running(folder: Path, path: str = "") -> Iterator[dict[str, Any]]:
    """Run a chain and a service, and provide the settings of a client."""
    more = f'[merchant]\nname = "{path[1:]}"\n' if path else ""
    with live_node("--payments") as chain:
        config = configure(folder, chain.url, f"sqlite:///{folder}/pay.db", more=more)
        with stopping(HostedServing(config) if path else Serving(config)) as service:
            url = service.url + path
            yield {"url": url, "apiKey": api_key(config), "buyer": BUYERS[0].address, "node": chain.url}


def execute(settings: dict[str, Any], package: Path, *arguments: str) -> str:
    """Run Node.js and return its output."""
    run = subprocess.run(
        [find_node(), *arguments],
        env={
            **os.environ,
            "FORESEAL_CLIENT": (package / "dist" / "index.js").as_uri(),
            "FORESEAL_SERVICE": json.dumps(settings),
        },
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    return run.stdout


def test_packages_are_pinned() -> None:
    """Each has an exact version and a hash, and no address of a registry; one is needed at run time."""
    package = json.loads((TYPESCRIPT / "package.json").read_text())
    assert package["dependencies"].keys() == {"openapi-fetch"}
    assert package["devDependencies"].keys() == {"openapi-typescript", "typescript"}
    for version in (*package["dependencies"].values(), *package["devDependencies"].values()):
        assert EXACT.fullmatch(version)
    locked = json.loads((TYPESCRIPT / "package-lock.json").read_text())["packages"]
    root = locked.pop("")
    assert {name: root[name] for name in ("dependencies", "devDependencies")} == {
        name: package[name] for name in ("dependencies", "devDependencies")
    }
    for entry in locked.values():
        assert entry["integrity"].startswith("sha512-")
        assert "resolved" not in entry
    runtime = {path.removeprefix("node_modules/") for path, entry in locked.items() if not entry.get("dev")}
    assert runtime == {"openapi-fetch", "openapi-typescript-helpers"}


def test_valid_calls_compile_and_invalid_ones_do_not() -> None:
    run = compile_types("--project", "tests")
    assert run.returncode == 0, run.stdout + run.stderr
    assert (TYPESCRIPT / "tests" / "types.test.ts").read_text().count("@ts-expect-error:") >= 8


@pytest.mark.parametrize("path", ["", "/books"])
def test_client_works_with_a_running_service(package: Path, tmp_path: Path, path: str) -> None:
    token = TokenDomain(TOKEN, 31337, NAME, VERSION)
    terms = PaymentAuthorization(token, BUYERS[0].address, MERCHANT.address, 1_250_000, 1 << 40)
    payment = terms.payment(signature(BUYERS[0], terms.typed_data()))
    with running(tmp_path, path) as settings:
        output = execute({**settings, "payment": payment}, package, "--test", "--test-reporter=tap", str(TESTS))
    names = set(re.findall(r'^test\("(.*)", async', TESTS.read_text(), re.MULTILINE))
    assert len(names) > 10
    assert set(re.findall(r"^ok \d+ - (.*)$", output, re.MULTILINE)) == names


def test_examples_of_the_guide_work(package: Path, tmp_path: Path) -> None:
    examples = [block.text for block in blocks(PAGE) if block.language == "ts"]
    assert len(examples) >= 3
    folder = package / "examples"
    folder.mkdir()
    (folder / "guide.ts").write_text(PRELUDE + "\n".join(examples))
    (folder / "tsconfig.json").write_text(
        json.dumps(
            {
                "extends": str(TYPESCRIPT / "tsconfig.json"),
                "compilerOptions": {"rootDir": ".", "outDir": ".", "declaration": False},
                "include": [],
                "files": ["guide.ts"],
            }
        )
    )
    run = compile_types("--project", str(folder))
    assert run.returncode == 0, run.stdout + run.stderr
    with running(tmp_path) as settings:
        printed = execute(settings, package, str(folder / "guide.js")).splitlines()
    assert printed[0] in {"Stored, unused", "Used, captured"}
    assert printed[1].startswith("7 ")
    assert printed[2].startswith("kind,transaction_hash")
    assert printed[-1] == "0"
