"""Builds the image without an image registry: the base is a Debian that debootstrap makes."""

import json
import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from distribution.build import build_wheel
from repository import ROOT

BASE = "localhost/foreseal-test-base"
IMAGE = "localhost/foreseal-test"
PROMETHEUS = "localhost/foreseal-test-prometheus"
_PACKAGES = "ca-certificates,python3,python3-venv"
_CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")
# Limits that a process without CAP_SYS_RESOURCE may set.
_LIMITS = ("--ulimit", "nofile=8192:8192", "--ulimit", "nproc=8192:8192")
# Sources of packages and certificates of this machine, for machines that reach their registries through others.
_SHARED_FILES = (Path("/etc/pip.conf"), _CERTIFICATES)
_MOUNTS = (Path("/etc/apt/sources.list.d"), Path("/usr/share/keyrings"))
# A machine without systemd, and with both versions of cgroups, which crun rejects. The networks are in the folder.
_SETTINGS = """
[containers]
log_driver = "k8s-file"
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
[network]
network_backend = "netavark"
network_config_dir = "{folder}/networks"
"""
# Debian's Prometheus, in place of the image that compose.yaml names.
_PROMETHEUS_FILE = """
ARG BASE
FROM ${BASE}
RUN apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends prometheus \\
    && rm -rf /var/lib/apt/lists/* && install -d -o 65534 -g 65534 /prometheus
VOLUME /prometheus
ENTRYPOINT ["prometheus"]
"""


class ContainerTools:
    """buildah and podman with images and containers of their own, in a folder."""

    def __init__(self, folder: Path) -> None:
        """Use a folder, which must not be deleted before `close`. Skips the test without the programs or root."""
        for program in ("buildah", "podman", "runc", "debootstrap"):
            if shutil.which(program) is None:
                pytest.skip(f"{program} is not installed")
        if os.geteuid() != 0:
            pytest.skip("debootstrap needs root")
        self._folder = folder
        configuration = folder / "storage.conf"
        configuration.write_text(
            f"[storage]\ndriver = 'vfs'\ngraphroot = '{folder}/graph'\nrunroot = '{folder}/run'\n", encoding="utf-8"
        )
        settings = folder / "containers.conf"
        settings.write_text(_SETTINGS.format(folder=folder), encoding="utf-8")
        (folder / "networks").mkdir(exist_ok=True)
        self.variables = {"CONTAINERS_STORAGE_CONF": str(configuration), "CONTAINERS_CONF": str(settings)}
        """Environment variables with which podman uses the folder."""

    def run(self, *command: str, check: bool = True) -> str:
        """Run buildah or podman, and return its standard output."""
        ended = subprocess.run(command, env=os.environ | self.variables, capture_output=True, text=True, check=False)
        assert ended.returncode == 0 or not check, ended.stdout + ended.stderr
        return ended.stdout.strip()

    def podman(self, *arguments: str, check: bool = True) -> str:
        """Run podman, and return its standard output."""
        return self.run("podman", *arguments, check=check)

    def inspect(self, container: str, value: str) -> str:
        """Return a value of a container, as a template of podman."""
        return self.podman("inspect", container, "--format", value)

    def build(self) -> None:
        """Build the base and the image."""
        root = self._folder / "base"
        self.run("debootstrap", "--variant=minbase", f"--include={_PACKAGES}", "bookworm", str(root))
        subprocess.run(["umount", str(root / "proc")], check=False, capture_output=True)
        for file in filter(Path.exists, _SHARED_FILES):
            shutil.copy(file, root / file.relative_to("/"))
        shutil.copy(_CERTIFICATES, root / "usr/local/share/ca-certificates/host.crt")
        archive = self._folder / "base.tar"
        excluded = ("--exclude=./proc/*", "--exclude=./sys/*")
        self.run("tar", "-C", str(root), "--one-file-system", *excluded, "-cf", str(archive), ".")
        shutil.rmtree(root)
        working = self.run("buildah", "from", "scratch")
        self.run("buildah", "add", working, str(archive), "/")
        self.run("buildah", "commit", working, BASE)
        archive.unlink()
        self._build_image(IMAGE, ROOT / "deploy/container/Containerfile", self._context())

    def build_prometheus(self) -> None:
        """Build an image of Debian's Prometheus on the base."""
        context = self._folder / "prometheus"
        context.mkdir()
        containerfile = context / "Containerfile"
        containerfile.write_text(_PROMETHEUS_FILE, encoding="utf-8")
        self._build_image(PROMETHEUS, containerfile, context)

    def require_network(self) -> None:
        """Skip the test if containers of this machine cannot have a network of their own."""
        command = ("podman", "run", "--rm", *_LIMITS, "--network", "foreseal-test-probe", BASE, "true")
        self.podman("network", "create", "foreseal-test-probe")
        ended = subprocess.run(command, env=os.environ | self.variables, capture_output=True, text=True, check=False)
        self.podman("network", "rm", "--force", "foreseal-test-probe")
        if ended.returncode:
            pytest.skip(f"podman cannot start a container in a bridge network: {ended.stderr.strip()}")

    def _build_image(self, name: str, containerfile: Path, context: Path) -> None:
        mounts = [word for each in _MOUNTS if each.exists() for word in ("-v", f"{each}:{each}:ro")]
        self.run(
            *("buildah", "bud", "--isolation", "chroot", "--network", "host", "--format", "docker", *mounts),
            *("--build-arg", f"BASE={BASE}", "-t", name, "-f", str(containerfile), str(context)),
        )

    def _context(self) -> Path:
        """Return a folder with the files that the image needs and a wheel."""
        context = self._folder / "context"
        shutil.copytree(ROOT / "deploy" / "container", context / "deploy" / "container")
        given = os.environ.get("FORESEAL_WHEEL")
        wheel = Path(given) if given else build_wheel("release", self._folder / "wheel")
        (context / "dist").mkdir()
        shutil.copy(wheel, context / "dist")
        return context

    def start(self, name: str, mounts: Sequence[str], port: int) -> None:
        """Start a hardened container of the image in the network of this machine."""
        self.podman(
            *("run", "-d", "--name", name, "--network", "host", "--read-only", "--tmpfs", "/tmp"),
            *("--cap-drop", "all", "--security-opt", "no-new-privileges"),
            *_LIMITS,
            *(word for mount in mounts for word in ("-v", mount)),
            *(
                "--health-cmd",
                json.dumps(["python3", "/opt/foreseal/healthcheck.py", f"http://127.0.0.1:{port}/healthz"]),
            ),
            IMAGE,
        )

    def close(self) -> None:
        """Remove all containers, volumes and images of the folder."""
        self.podman("rm", "--all", "--force", "--volumes", check=False)
        self.podman("volume", "rm", "--all", "--force", check=False)
        self.run("buildah", "rm", "--all", check=False)
        self.podman("rmi", "--all", "--force", check=False)
