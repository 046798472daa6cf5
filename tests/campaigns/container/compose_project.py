"""The compose file as shipped, in a folder with a chain, settings and ports of its own."""

import json
import os
import shlex
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from command import foreseal
from container.images import IMAGE, PROMETHEUS, ContainerTools
from foreseal.payments.contracts.development import DevelopmentContracts
from foreseal.ports import next_free_port
from live import DEV_ACCOUNTS
from live.accounts import key_of
from live.proxies import find_program
from payments.api.serving import MERCHANT
from repository import ROOT

CHAIN_ID = 4711
USER = 10001
_NAME = "foreseal-test"
# A machine without CAP_SYS_RESOURCE cannot raise its limits.
_OVERRIDE = {"ulimits": {"nofile": 8192, "nproc": 8192}}
_OVERRIDE_FILE = "override.yaml"
_FILES = tuple(word for file in ("compose.yaml", "monitoring.yaml", _OVERRIDE_FILE) for word in ("-f", file))
# The services, with the variables of their ports.
_PORTS = {"node": "NODE_PORT", "pay": "PAY_PORT", "prometheus": "PROMETHEUS_PORT"}
SERVICES = tuple(_PORTS)


def require_compose() -> str:
    """Return the path of podman-compose. Skips the test if it is not installed."""
    program = os.environ.get("FORESEAL_COMPOSE") or "podman-compose"
    return find_program(program) or pytest.skip(f"{program} is not installed")


class ComposeProject:
    """The services of `deploy/container/compose.yaml`. Prints each command and its output."""

    def __init__(self, tools: ContainerTools, folder: Path) -> None:
        """Copy the shipped files to an empty folder, and write what an operator writes."""
        self._tools = tools
        self._folder = folder / "deploy" / "container"
        shutil.copytree(ROOT / "deploy" / "container", self._folder)
        shutil.copytree(ROOT / "deploy" / "prometheus", folder / "deploy" / "prometheus")
        self._write_chain()
        (self._folder / _OVERRIDE_FILE).write_text(
            json.dumps({"services": dict.fromkeys(SERVICES, _OVERRIDE)}), encoding="utf-8"
        )
        ports = {service: next_free_port() for service in SERVICES}
        self._url = {service: f"http://127.0.0.1:{port}" for service, port in ports.items()}
        self._command = [require_compose(), "-p", _NAME, *_FILES]
        self._environment = (
            os.environ
            | tools.variables
            | {_PORTS[service]: str(port) for service, port in ports.items()}
            | {"FORESEAL_IMAGE": IMAGE, "PROMETHEUS_IMAGE": PROMETHEUS}
        )

    def _write_chain(self) -> None:
        accounts = [account.address for account in DEV_ACCOUNTS]
        made = foreseal("genesis", "--chain-id", CHAIN_ID, "--fund", f"{MERCHANT.address}=100")
        assert made.returncode == 0, made.stderr
        genesis = json.loads(made.stdout)
        genesis["alloc"] |= DevelopmentContracts.from_accounts(accounts).alloc(CHAIN_ID)
        (self._folder / "genesis.json").write_text(json.dumps(genesis), encoding="utf-8")
        key = self._folder / "payee.key"
        key.write_text(key_of(MERCHANT), encoding="utf-8")
        key.chmod(0o600)
        os.chown(key, USER, USER)

    def compose(self, *arguments: str) -> str:
        """Run podman-compose, and return its standard output."""
        return self._print_and_run([*self._command, *arguments], ["podman-compose", *_FILES[:4], *arguments])

    def podman(self, *arguments: str) -> str:
        """Run podman, and return its standard output."""
        return self._print_and_run(["podman", *arguments], ["podman", *arguments])

    def _print_and_run(self, command: Sequence[str], shown: Sequence[str]) -> str:
        print(f"$ {shlex.join(shown)}", flush=True)
        ended = subprocess.run(
            command, cwd=self._folder, env=self._environment, capture_output=True, text=True, check=False
        )
        print(ended.stdout, end="", flush=True)
        assert ended.returncode == 0, ended.stdout + ended.stderr
        return ended.stdout.strip()

    def url(self, service: str) -> str:
        """Return the URL of a service at the port of this machine that compose.yaml forwards."""
        return self._url[service]

    def container(self, service: str) -> str:
        """Return the name of the container of a service; an empty text if it has none."""
        labels = (f"io.podman.compose.project={_NAME}", f"com.docker.compose.service={service}")
        filters = [word for label in labels for word in ("--filter", f"label={label}")]
        return self._tools.podman("ps", "--all", *filters, "--format", "{{.Names}}")

    def inspect(self, service: str, value: str) -> str:
        """Return a value of the container of a service, as a template of podman."""
        return self._tools.inspect(self.container(service), value)

    def explain(self) -> str:
        """Return the newest log lines of all services."""
        containers = {service: self.container(service) for service in SERVICES}
        logs = [
            f"{service}:\n{self._tools.podman('logs', '--tail', '20', name, check=False)}"
            for service, name in containers.items()
            if name
        ]
        return "\n".join(logs)

    def close(self) -> None:
        """Remove containers, networks and volumes."""
        self.compose("down", "--volumes")
