"""The image runs a node as its user, with a read-only root, and stops in order."""

import os
import subprocess
from pathlib import Path

import pytest

from container.images import ContainerTools
from foreseal.ports import next_free_port
from live import wait_for
from live.process import foreseal_command, is_ok

NAME = "foreseal-test-node"
USER = 10001
SECONDS = 60.0


@pytest.mark.timeout(1800)
def test_hardened_container_serves_a_chain_and_stops_in_order(tools: ContainerTools, tmp_path: Path) -> None:
    port = next_free_port()
    etc, chain = tmp_path / "etc", tmp_path / "chain"
    etc.mkdir(mode=0o755)
    chain.mkdir()
    os.chown(chain, USER, USER)
    genesis = subprocess.run([foreseal_command(), "genesis", "--chain-id", "4711"], capture_output=True, check=True)
    (etc / "genesis.json").write_bytes(genesis.stdout)
    (etc / "node.toml").write_text(
        '[node]\ndatadir = "/var/lib/foreseal"\ngenesis = "/etc/foreseal/genesis.json"\n'
        f"[server]\nport = {port}\nworkers = 2\n"
    )
    tools.start(NAME, [f"{etc}:/etc/foreseal:ro", f"{chain}:/var/lib/foreseal"], port)
    wait_for(
        lambda: is_ok(f"http://127.0.0.1:{port}/readyz"),
        SECONDS,
        "a ready node",
        lambda: tools.podman("logs", NAME, check=False),
    )
    assert tools.podman("exec", NAME, "id", "-u") == str(USER)
    assert tools.podman("exec", NAME, "grep", "CapEff", "/proc/1/status").split()[1] == "0" * 16
    assert "written" not in tools.podman("exec", NAME, "sh", "-c", "touch /opt/x && echo written", check=False)
    tools.podman("healthcheck", "run", NAME)
    tools.podman("stop", "--time", "60", NAME)
    assert tools.inspect(NAME, "{{.State.ExitCode}}") == "0"
    tools.podman("rm", NAME)
    assert not list(chain.glob("running"))
