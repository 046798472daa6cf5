"""Live tests of the Python SDK of x402, unmodified, in a separate process on a node."""

import contextlib
import fcntl
import os
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import orjson
import pytest
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from live_node import shared
from payments.x402.pairings.serving import serving
from payments.x402.world import BUYERS, FACILITATOR, World

VERSION = "2.8.0"
"""Version of the SDK whose tests the expected failures describe."""
FILES = ("integrations/test_evm.py", "integrations/test_mcp_evm.py")
"""Tests that send transactions to a chain, below the folder of tests."""
_JSON = {"content-type": "application/json"}
_CHECK = (
    "import mcp, nest_asyncio, pytest_asyncio, web3; from importlib.metadata import version; print(version('x402'))"
)


@dataclass
class SdkRun:
    """Results of one run."""

    passed: set[str] = field(default_factory=set)
    failed: dict[str, str] = field(default_factory=dict)
    """Output of the failed tests by name."""
    rejected: list[str] = field(default_factory=list)
    """Errors of the node for submitted transactions."""


def sdk_tests() -> Path:
    """Return the folder `tests` of a checkout of the SDK; skip the calling test if there is none."""
    given = os.environ.get("X402_SDK")
    folder = Path(given) if given else shared("x402-sdk")
    candidates = (folder / "python" / "x402" / "tests", folder / "tests", folder)
    paths = [path for path in candidates if (path / FILES[0]).exists()]
    if not paths:
        pytest.skip(f"{folder} has no x402 tests: set X402_SDK to a checkout of the SDK {VERSION}")
    return paths[0]


def sdk_python() -> str:
    """Return a Python with the SDK; skip the calling test if it lacks the SDK or a package of its tests."""
    python = os.environ.get("X402_SDK_PYTHON", sys.executable)
    process = subprocess.run([python, "-c", _CHECK], capture_output=True, text=True, check=False)
    if process.returncode or process.stdout.strip() != VERSION:
        reason = (process.stderr.strip() or f"x402 {process.stdout.strip()}").splitlines()[-1]
        pytest.skip(f"{python} cannot run the tests of x402 {VERSION} ({reason}): use `make sdk`")
    return python


def run_live_tests(world: World, folder: Path) -> SdkRun:
    """Run the tests in a copy, with a buyer and a facilitator of the world."""
    python, tests, report = sdk_python(), folder / "tests", folder / "report.xml"
    shutil.copytree(sdk_tests(), tests)
    run = SdkRun()
    with recording(world.url, run.rejected) as url, _exclusive():
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "PYTEST"))}
        environment |= {
            "EVM_RPC_URL": url,
            "EVM_CLIENT_PRIVATE_KEY": "0x" + bytes(BUYERS[0].key).hex(),
            "EVM_FACILITATOR_PRIVATE_KEY": "0x" + bytes(FACILITATOR.key).hex(),
        }
        command = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--junit-xml", str(report), *FILES]
        ended = subprocess.run(command, cwd=tests, env=environment, capture_output=True, text=True, check=False)
    assert ended.returncode in (0, 1), ended.stdout + ended.stderr
    for case in ElementTree.parse(report).getroot().iter("testcase"):
        name = f"{case.attrib['classname'].rpartition('.')[2]}::{case.attrib['name']}"
        problems = [problem for problem in case if problem.tag in ("failure", "error", "skipped")]
        if problems:
            run.failed[name] = "".join(problem.text or "" for problem in problems)
        else:
            run.passed.add(name)
    return run


@contextlib.contextmanager
def recording(target: str, rejected: list[str]) -> Iterator[str]:
    """Yield the URL of a proxy of a node that records errors of `eth_sendRawTransaction`."""
    with httpx.Client(timeout=60) as client:

        def forward(body: bytes) -> bytes:
            answer: Any = orjson.loads(client.post(target, content=body, headers=_JSON).content)
            if b"eth_sendRawTransaction" in body and "error" in answer:
                rejected.append(answer["error"]["message"])
            return orjson.dumps(answer)

        async def handle(request: Request) -> Response:
            body = await request.body()
            return Response(await run_in_threadpool(forward, body), media_type="application/json")

        with serving(Starlette(routes=[Route("/", handle, methods=["POST"])])) as url:
            yield url


@contextlib.contextmanager
def _exclusive() -> Iterator[None]:
    """Exclude other workers: a test of the SDK binds a fixed port."""
    with Path(__file__).open("rb") as exclusive:
        fcntl.flock(exclusive, fcntl.LOCK_EX)
        yield
