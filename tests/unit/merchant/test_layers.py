"""The clients import neither the service nor packages of Ethereum or databases."""

import subprocess
import sys

CODE = "import sys, foreseal.merchant; print(*sorted({name.partition('.')[0] for name in sys.modules}))"
SERVICE = (
    "import sys, foreseal.merchant; print(*[name for name in sys.modules if name.startswith('foreseal.payments')])"
)


def run(code: str) -> set[str]:
    return set(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split())


def test_import_loads_httpx_and_no_package_of_the_service() -> None:
    loaded = run(CODE)
    assert "httpx" in loaded
    assert not loaded & {"sqlalchemy", "starlette", "pydantic", "eth_account", "eth_utils", "eth_abi", "web3"}
    assert run(SERVICE) == set()
