"""The TypeScript client: its types, and typescript_client.test.mjs with a running service."""

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

from foreseal.merchant import PaymentAuthorization, TokenDomain
from foreseal.payments.contracts.development import NAME, TOKEN, VERSION
from live import live_node
from live.process import stopping
from npm import find_node, install
from payments.api.serving import BUYERS, MERCHANT, HostedServing, Serving, api_key, configure, signature
from repository import ROOT

CLIENT = ROOT / "web" / "merchant-client"
TESTS = Path(__file__).with_name("typescript_client.test.mjs")
SECONDS = 100.0


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Compile the client; a type error fails the test."""
    node = find_node()
    install(CLIENT)
    folder = tmp_path_factory.mktemp("client")
    (folder / "package.json").write_text('{"type": "module"}')
    compiler = CLIENT / "node_modules" / "typescript" / "bin" / "tsc"
    run = subprocess.run(
        [node, str(compiler), "--project", str(CLIENT), "--outDir", str(folder)],
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    return folder / "index.js"


def test_client_has_no_dependency() -> None:
    package = json.loads((CLIENT / "package.json").read_text())
    assert package["devDependencies"].keys() == {"typescript"}
    assert not {"dependencies", "peerDependencies", "optionalDependencies"} & package.keys()


@pytest.mark.parametrize("path", ["", "/books"])
def test_client_works_with_a_running_service(compiled: Path, tmp_path: Path, path: str) -> None:
    more = f'[merchant]\nname = "{path[1:]}"\n' if path else ""
    with live_node("--payments") as chain:
        config = configure(tmp_path, chain.url, f"sqlite:///{tmp_path}/pay.db", more=more)
        with stopping(HostedServing(config) if path else Serving(config)) as service:
            token = TokenDomain(TOKEN, 31337, NAME, VERSION)
            terms = PaymentAuthorization(token, BUYERS[0].address, MERCHANT.address, 1_250_000, 1 << 40)
            payment = terms.payment(signature(BUYERS[0], terms.typed_data()))
            settings = {"url": service.url + path, "apiKey": api_key(config), "payment": payment}
            run = subprocess.run(
                [find_node(), "--test", "--test-reporter=tap", str(TESTS)],
                env={**os.environ, "FORESEAL_CLIENT": compiled.as_uri(), "FORESEAL_SERVICE": json.dumps(settings)},
                capture_output=True,
                text=True,
                timeout=SECONDS,
                check=False,
            )
    assert run.returncode == 0, run.stdout + run.stderr
    names = set(re.findall(r'^test\("(.*)", async', TESTS.read_text(), re.MULTILINE))
    assert len(names) > 10
    assert set(re.findall(r"^ok \d+ - (.*)$", run.stdout, re.MULTILINE)) == names
