"""The container files name what exists, and harden both services."""

import yaml

from foreseal.server.settings import from_environment
from repository import ROOT

CONTAINER = ROOT / "deploy" / "container"
COMPOSE = yaml.safe_load((CONTAINER / "compose.yaml").read_text())


def test_each_service_is_hardened_and_has_time_to_stop() -> None:
    stop_time = from_environment({"FORESEAL_DATADIR": "/var/lib/foreseal"}).stop_time
    assert COMPOSE["services"].keys() == {"node", "pay"}
    for service in COMPOSE["services"].values():
        assert service["read_only"]
        assert service["cap_drop"] == ["ALL"]
        assert "no-new-privileges:true" in service["security_opt"]
        assert float(service["stop_grace_period"].removesuffix("s")) > stop_time
        # Ports are open on loopback only: TLS and rate limits belong in front of them.
        assert all(port.startswith("127.0.0.1:") for port in service["ports"])


def test_each_written_path_is_a_volume_of_the_image_and_each_volume_is_used() -> None:
    text = (CONTAINER / "Containerfile").read_text()
    used = set()
    for service in COMPOSE["services"].values():
        for volume in service["volumes"]:
            source, target, *mode = volume.split(":")
            if source.startswith("."):
                assert mode == ["ro"]
            else:
                used.add(source)
                assert f'"{target}"' in text
    assert used == COMPOSE["volumes"].keys()


def test_the_image_does_not_run_as_root() -> None:
    lines = (CONTAINER / "Containerfile").read_text().splitlines()
    assert "USER 10001:10001" in lines
    assert lines.index("USER 10001:10001") < next(i for i, line in enumerate(lines) if line.startswith("ENTRYPOINT"))
