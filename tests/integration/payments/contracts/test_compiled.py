"""The compiled contracts belong to their sources, and recompilation gives the same bytes."""

import hashlib
import subprocess
from pathlib import Path

import orjson
import pytest

import npm
from foreseal.payments import contracts
from payments.contracts.doubles import FOLDER as DOUBLES
from repository import SUPPORT

COMPILER = SUPPORT / "payments" / "contracts" / "compiler"
PACKAGE = Path(contracts.__file__).parent
FOLDERS = {"package": (PACKAGE / "sources", PACKAGE / "compiled"), "doubles": (DOUBLES, DOUBLES / "compiled")}
DEPLOYABLE = {
    *("PaymentToken", "Checkout", "Payouts", "BatchCapture"),
    *("Permit2", "ExactPermit2Proxy", "UptoPermit2Proxy", "Multicall3"),
    *("BatchSettlement", "Erc3009DepositCollector", "Permit2DepositCollector"),
}
# EIP-170
LARGEST_CODE = 24_576


def artifacts(folder: Path) -> dict[str, dict]:
    return {path.stem: orjson.loads(path.read_bytes()) for path in folder.glob("*.json")}


def test_every_contract_is_compiled() -> None:
    assert set(artifacts(PACKAGE / "compiled")) == DEPLOYABLE


@pytest.mark.parametrize("place", FOLDERS)
def test_each_was_compiled_after_the_last_change_of_its_sources(place: str) -> None:
    sources, compiled = FOLDERS[place]
    seen = set()
    for name, artifact in artifacts(compiled).items():
        assert artifact["contract"] == name
        assert artifact["compiler"]["version"].startswith("0.8.37+")
        own = {path: digest for path, digest in artifact["sources"].items() if not path.startswith("@")}
        for path, digest in own.items():
            current_digest = hashlib.sha256((sources / path).read_bytes()).hexdigest()
            assert current_digest == digest, f"{path} changed: run `make contracts`"
        seen |= set(own)
    assert seen == {str(path.relative_to(sources)) for path in sources.rglob("*.sol")}


def test_each_can_be_deployed_on_mainnet() -> None:
    sizes = {name: len(artifact["runtime"]) // 2 - 1 for name, artifact in artifacts(PACKAGE / "compiled").items()}
    assert all(0 < size <= LARGEST_CODE for size in sizes.values()), sizes


# Seconds of one core; a busy machine takes longer.
@pytest.mark.timeout(400)
@pytest.mark.parametrize("place", FOLDERS)
def test_recompilation_reproduces_the_bytes(place: str, tmp_path: Path) -> None:
    node, (sources, compiled) = npm.find_node(), FOLDERS[place]
    npm.install(COMPILER)
    command = [node, str(COMPILER / "compile.mjs"), str(sources), str(tmp_path)]
    run = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    again = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert again == {path.name: path.read_bytes() for path in compiled.glob("*.json")}
