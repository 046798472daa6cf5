"""The compose file starts a node, a merchant service and Prometheus, which survive restarts and new containers."""

import contextlib
import json
import os
import signal
import urllib.parse
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest

from container.compose_project import SERVICES, ComposeProject
from container.images import ContainerTools
from live import wait_for
from live.process import is_ok
from live.rpc import Rpc
from payments.api.serving import BUYERS, Shopper

SECONDS = 60.0
_READY = {"node": "/readyz", "pay": "/healthz", "prometheus": "/-/ready"}
_CONFIG = "/etc/foreseal-pay/pay.toml"


@pytest.fixture(scope="module")
def project(tools: ContainerTools, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ComposeProject]:
    tools.require_network()
    project = ComposeProject(tools, tmp_path_factory.mktemp("compose"))
    tools.build_prometheus()
    try:
        project.compose("up", "-d")
        _wait_until_ready(project)
        yield project
    finally:
        project.close()


@pytest.fixture(scope="module")
def key(project: ComposeProject) -> str:
    """Return a new API key of the merchant service. podman-compose of Debian 12 also prints its own commands."""
    command = ("foreseal", "pay", "keys", "create", "shop", "--role", "admin", "--config", _CONFIG)
    return next(line for line in project.compose("exec", "-T", "pay", *command).splitlines() if line.startswith("pay_"))


def _wait_until_ready(project: ComposeProject) -> None:
    for service, path in _READY.items():
        url = project.url(service) + path
        wait_for(lambda url=url: _is_ready(url), SECONDS, url, project.explain)  # type: ignore[misc]


def _is_ready(url: str) -> bool:
    # A process that just ended resets its connections.
    with contextlib.suppress(ConnectionError):
        return is_ok(url)
    return False


def _capture(project: ComposeProject, key: str, order: str) -> None:
    """Create an order, sign it as the buyer, and capture it."""
    with Shopper(project.url("pay"), key, prefix=order) as shopper:
        shopper.stored(order, 1_000, BUYERS[0])
        shopper.made(f"/v1/orders/{order}/capture")
        wait_for(lambda: shopper.status(order).startswith("Used, captured"), SECONDS, f"a capture of {order}")
        print(f"order {order}: {shopper.status(order)}")


def _is_captured(project: ComposeProject, key: str, order: str) -> bool:
    with Shopper(project.url("pay"), key) as shopper:
        return shopper.status(order).startswith("Used, captured")


def _hash_of_block(project: ComposeProject, number: int) -> str:
    rpc = Rpc(project.url("node"))
    try:
        wait_for(lambda: int(rpc("eth_blockNumber"), 16) >= number, SECONDS, f"block {number}", project.explain)
        block_hash: str = rpc("eth_getBlockByNumber", hex(number), False)["hash"]
        return block_hash
    finally:
        rpc.close()


def _query(project: ComposeProject, path: str, **parameters: str) -> Any:
    url = f"{project.url('prometheus')}/api/v1/{path}?{urllib.parse.urlencode(parameters)}"
    with urllib.request.urlopen(url) as response:
        return json.loads(response.read())["data"]


@pytest.mark.timeout(1800)
def test_services_are_healthy_and_hardened(project: ComposeProject) -> None:
    for service in ("node", "pay"):
        project.podman("healthcheck", "run", project.container(service))
        assert project.inspect(service, "{{.State.Health.Status}}") == "healthy"
    project.podman("ps", "--format", "{{.Names}}  {{.Status}}  {{.Ports}}")
    for service in SERVICES:
        assert project.inspect(service, "{{.HostConfig.ReadonlyRootfs}}") == "true"
        assert project.inspect(service, "{{.HostConfig.RestartPolicy.Name}}") == "unless-stopped"
        status = project.compose("exec", "-T", service, "grep", "-E", "^(Uid|CapEff|NoNewPrivs)", "/proc/1/status")
        values = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
        assert values["Uid"].split("\t")[0] != "0"
        assert int(values["CapEff"], 16) == 0
        assert values["NoNewPrivs"] == "1"


def test_merchant_service_captures_an_order_on_the_node(project: ComposeProject, key: str) -> None:
    _capture(project, key, "first")


def test_prometheus_scrapes_both_services_and_evaluates_the_rules(project: ComposeProject) -> None:
    def is_up() -> bool:
        jobs = {each["metric"]["job"]: each["value"][1] for each in _query(project, "query", query="up")["result"]}
        return jobs == {"foreseal": "1", "foreseal-pay": "1"}

    wait_for(is_up, SECONDS, "scrape of both services", project.explain)
    rules = [rule for group in _query(project, "rules")["groups"] for rule in group["rules"]]
    assert {"ForesealNodeDown", "ForesealPayDown"} <= {rule["name"] for rule in rules}
    wait_for(
        lambda: {rule["health"] for group in _query(project, "rules")["groups"] for rule in group["rules"]} == {"ok"},
        SECONDS,
        "evaluation of all rules",
    )
    print(f"Prometheus: 2 targets up, {len(rules)} rules ok")


def test_restart_of_a_container_retains_the_chain(project: ComposeProject, key: str) -> None:
    _capture(project, key, "before-restart")
    before = _hash_of_block(project, 1)
    started = project.inspect("node", "{{.State.StartedAt}}")
    project.compose("restart", "node")
    _wait_until_ready(project)
    assert project.inspect("node", "{{.State.StartedAt}}") != started
    assert _hash_of_block(project, 1) == before
    _capture(project, key, "after-restart")


def test_killed_process_is_started_again(project: ComposeProject, key: str) -> None:
    before = _hash_of_block(project, 1)
    pid = int(project.inspect("node", "{{.State.Pid}}"))
    os.kill(pid, signal.SIGKILL)
    wait_for(lambda: project.inspect("node", "{{.State.Pid}}") not in ("0", str(pid)), SECONDS, "new process")
    _wait_until_ready(project)
    assert _hash_of_block(project, 1) == before
    _capture(project, key, "after-kill")


def test_new_containers_find_the_volumes_of_the_former_ones(project: ComposeProject, key: str) -> None:
    _capture(project, key, "before-down")
    before = _hash_of_block(project, 1)
    project.compose("stop")
    for service in ("node", "pay"):
        assert project.inspect(service, "{{.State.ExitCode}}") == "0", project.explain()
    project.compose("down")
    assert not any(map(project.container, SERVICES))
    project.compose("up", "-d")
    _wait_until_ready(project)
    assert _hash_of_block(project, 1) == before
    assert _is_captured(project, key, "before-down")
    _capture(project, key, "after-down")
    assert len(project.podman("volume", "ls", "--quiet").splitlines()) == len(SERVICES)
