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
_PACKAGES = "ca-certificates,python3,python3-venv"
_CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")
# Sources of packages and certificates of this machine, for machines that reach their registries through others.
_SHARED_FILES = (Path("/etc/pip.conf"), _CERTIFICATES)
_MOUNTS = (Path("/etc/apt/sources.list.d"), Path("/usr/share/keyrings"))


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
        self._variables = os.environ | {"CONTAINERS_STORAGE_CONF": str(configuration)}

    def run(self, *command: str, check: bool = True) -> str:
        """Run buildah or podman, and return its standard output."""
        ended = subprocess.run(command, env=self._variables, capture_output=True, text=True, check=False)
        assert ended.returncode == 0 or not check, ended.stdout + ended.stderr
        return ended.stdout.strip()

    def podman(self, *arguments: str, check: bool = True) -> str:
        """Run podman without systemd. crun rejects a machine that has both versions of cgroups."""
        return self.run("podman", "--runtime", "runc", "--cgroup-manager", "cgroupfs", *arguments, check=check)

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
        mounts = [word for each in _MOUNTS if each.exists() for word in ("-v", f"{each}:{each}:ro")]
        containerfile = str(ROOT / "deploy/container/Containerfile")
        self.run(
            *("buildah", "bud", "--isolation", "chroot", "--network", "host", "--format", "docker", *mounts),
            *("--build-arg", f"BASE={BASE}", "-t", IMAGE, "-f", containerfile, str(self._context())),
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
            # Limits that a process without CAP_SYS_RESOURCE may set.
            *("--ulimit", "nofile=8192:8192", "--ulimit", "nproc=8192:8192"),
            *(word for mount in mounts for word in ("-v", mount)),
            *(
                "--health-cmd",
                json.dumps(["python3", "/opt/foreseal/healthcheck.py", f"http://127.0.0.1:{port}/healthz"]),
            ),
            IMAGE,
        )

    def close(self, *containers: str) -> None:
        """Remove containers and images."""
        self.podman("rm", "--force", "--ignore", *containers, check=False)
        self.run("buildah", "rm", "--all", check=False)
        self.podman("rmi", "--all", "--force", check=False)
