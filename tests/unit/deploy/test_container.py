"""The container files name what exists, and harden all services."""

import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from foreseal.payments.configuration import read
from foreseal.server.settings import from_environment
from live.proxies import require_program
from repository import ROOT

CONTAINER = ROOT / "deploy" / "container"
COMPOSE = yaml.safe_load((CONTAINER / "compose.yaml").read_text())
MONITORING = yaml.safe_load((CONTAINER / "monitoring.yaml").read_text())
SERVICES: dict[str, Any] = COMPOSE["services"] | MONITORING["services"]
_WRITTEN_BY_THE_OPERATOR = {"genesis.json", "payee.key"}


def test_each_service_is_hardened_and_has_time_to_stop() -> None:
    stop_time = from_environment({"FORESEAL_DATADIR": "/var/lib/foreseal"}).stop_time
    assert SERVICES.keys() == {"node", "pay", "prometheus"}
    for service in SERVICES.values():
        assert service["read_only"]
        assert service["cap_drop"] == ["ALL"]
        assert "no-new-privileges:true" in service["security_opt"]
        assert float(service["stop_grace_period"].removesuffix("s")) > stop_time
        # on-failure would leave a node stopped after a restart of the machine.
        assert service["restart"] == "unless-stopped"
        # Ports are open on loopback only: TLS and rate limits belong in front of them.
        assert all(port.startswith("127.0.0.1:") for port in service["ports"])


def test_node_and_merchant_service_have_health_checks_and_names_that_stay() -> None:
    for name in ("node", "pay"):
        service = SERVICES[name]
        assert service["hostname"] == name
        port = service["ports"][0].rsplit(":", 1)[1]
        assert service["healthcheck"]["test"][-1] == f"http://127.0.0.1:{port}/healthz"
    assert SERVICES["pay"]["depends_on"] == {"node": {"condition": "service_healthy"}}


def test_each_written_path_is_made_by_the_image_and_each_volume_is_used() -> None:
    text = (CONTAINER / "Containerfile").read_text()
    # A VOLUME gives each container an unnamed volume for the directory that it does not use.
    assert "VOLUME [" not in text
    made = next(line for line in text.splitlines() if "install -d -m 700 -o foreseal" in line).split()
    used = set()
    for name, service in SERVICES.items():
        for volume in service["volumes"]:
            source, target, *mode = volume.split(":")
            if source.startswith("."):
                assert mode == ["ro"]
                file = (CONTAINER / source).resolve()
                assert file.exists() or file.name in _WRITTEN_BY_THE_OPERATOR
            else:
                used.add(source)
                assert name == "prometheus" or target in made
    assert used == COMPOSE["volumes"].keys() | MONITORING["volumes"].keys()


def test_shipped_settings_fit_the_compose_file(tmp_path: Path) -> None:
    node = tomllib.loads((CONTAINER / "node.toml").read_text())
    mounts = [volume.split(":")[1] for volume in SERVICES["node"]["volumes"]]
    assert {node["node"]["datadir"], node["node"]["genesis"]} <= set(mounts)
    assert node["server"]["host"] == "0.0.0.0"
    text = (CONTAINER / "pay.toml").read_text()
    assert tomllib.loads(text)["payee"]["key_file"] in (v.split(":")[1] for v in SERVICES["pay"]["volumes"])
    key = tmp_path / "payee.key"
    key.write_text("0x" + "01" * 32)
    key.chmod(0o600)
    file = tmp_path / "pay.toml"
    file.write_text(text.replace("/etc/foreseal-pay/payee.key", str(key)))
    configuration = read(file)
    assert configuration.node.url == f"http://node:{SERVICES['node']['ports'][0].rsplit(':', 1)[1]}"


def test_promtool_accepts_the_configuration_of_prometheus(tmp_path: Path) -> None:
    promtool = require_program("promtool")
    shutil.copy(CONTAINER / "prometheus.yml", tmp_path)
    for volume in SERVICES["prometheus"]["volumes"]:
        source, target, *_ = volume.split(":")
        if source.startswith("../"):
            assert Path(target).parent == Path("/etc/prometheus")
            shutil.copy(CONTAINER / source, tmp_path)
    command = [promtool, "check", "config", str(tmp_path / "prometheus.yml")]
    checked = subprocess.run(command, capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stdout + checked.stderr
    targets = {
        target
        for job in yaml.safe_load((CONTAINER / "prometheus.yml").read_text())["scrape_configs"]
        for each in job["static_configs"]
        for target in each["targets"]
    }
    assert targets == {f"{name}:{SERVICES[name]['ports'][0].rsplit(':', 1)[1]}" for name in ("node", "pay")}


@pytest.mark.parametrize("file", ["payee.key", "genesis.json"])
def test_keys_and_chains_stay_out_of_the_image_and_the_repository(file: str) -> None:
    line = f"deploy/container/{'*.key' if file.endswith('.key') else file}"
    assert f"/{line}" in (ROOT / ".gitignore").read_text().splitlines()
    # Docker reads only this name; podman and buildah read it as well.
    assert line in (ROOT / ".dockerignore").read_text().splitlines()


def test_the_image_does_not_run_as_root() -> None:
    lines = (CONTAINER / "Containerfile").read_text().splitlines()
    assert "USER 10001:10001" in lines
    assert lines.index("USER 10001:10001") < next(i for i, line in enumerate(lines) if line.startswith("ENTRYPOINT"))
