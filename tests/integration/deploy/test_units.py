"""The systemd units of `deploy/systemd` as systemd reads them, and their values against those of the programs."""

import configparser
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from foreseal.cli.exit_codes import INTERRUPTED, USAGE_ERROR
from foreseal.server.settings import Settings, from_environment
from repository import ROOT

SYSTEMD = ROOT / "deploy" / "systemd"
UNITS = ("foreseal.service", "foreseal-pay.service")
DROP_INS = sorted((SYSTEMD / "foreseal.service.d").glob("*.conf"))
MAX_EXPOSURE = 3.0
_PROGRAM = "/opt/foreseal/bin/foreseal"


class _Unit(configparser.RawConfigParser):
    """A unit file; of a key that is set several times, the last value."""

    def __init__(self, path: Path) -> None:
        super().__init__(strict=False, interpolation=None)
        self.read_string(path.read_text())

    def optionxform(self, optionstr: str) -> str:
        return optionstr

    def value(self, key: str) -> str:
        """Return a value of the section of the service."""
        return self["Service"][key]


def _settings(**variables: str) -> Settings:
    return from_environment({"FORESEAL_DATADIR": "/var/lib/foreseal", **variables})


def _analyze(*arguments: str) -> str:
    program = shutil.which("systemd-analyze") or pytest.skip("systemd-analyze is not installed")
    ended = subprocess.run([program, *arguments], capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout + ended.stderr


@pytest.mark.parametrize("name", UNITS)
def test_systemd_accepts_the_unit_without_a_warning(name: str, tmp_path: Path) -> None:
    text = (SYSTEMD / name).read_text()
    assert text.count(_PROGRAM) == 1
    copy = tmp_path / name
    copy.write_text(text.replace(_PROGRAM, shutil.which("true") or "/bin/true"))
    assert _analyze("verify", "--man=no", str(copy)) == ""


def test_systemd_accepts_the_unit_with_every_drop_in(tmp_path: Path) -> None:
    assert len(DROP_INS) >= 2
    copy = tmp_path / "foreseal.service"
    copy.write_text((SYSTEMD / copy.name).read_text().replace(_PROGRAM, shutil.which("true") or "/bin/true"))
    shutil.copytree(SYSTEMD / "foreseal.service.d", tmp_path / "foreseal.service.d")
    assert _analyze("verify", "--man=no", str(copy)) == ""


@pytest.mark.parametrize("name", UNITS)
def test_exposure_is_below_three(name: str) -> None:
    match = re.search(r"exposure level for \S+: ([\d.]+)", _analyze("security", "--offline=true", str(SYSTEMD / name)))
    assert match is not None
    assert 0 < float(match[1]) < MAX_EXPOSURE


@pytest.mark.parametrize("name", UNITS)
def test_an_error_of_the_configuration_is_not_retried(name: str) -> None:
    unit = _Unit(SYSTEMD / name)
    assert unit.value("Restart") == "on-failure"
    assert unit.value("RestartPreventExitStatus") == str(USAGE_ERROR)
    # A second signal is not an error of the configuration.
    assert str(INTERRUPTED) not in unit.value("RestartPreventExitStatus")
    assert unit["Unit"]["StartLimitIntervalSec"] == "0"


def test_systemd_waits_longer_than_the_node_needs_to_stop() -> None:
    unit = _Unit(SYSTEMD / "foreseal.service")
    assert float(unit.value("TimeoutStopSec")) > _settings().stop_time
    drain = _Unit(SYSTEMD / "foreseal.service.d" / "drain.conf")
    name, _, value = drain.value("Environment").partition("=")
    assert float(drain.value("TimeoutStopSec")) > _settings(**{name: value}).stop_time
    assert _settings(**{name: value}).stop_time > _settings().stop_time


def test_only_the_supervisor_gets_the_stop_signal() -> None:
    for name in UNITS:
        unit = _Unit(SYSTEMD / name)
        assert (unit.value("KillMode"), unit.value("KillSignal")) == ("mixed", "SIGTERM")


def test_limits_leave_room_for_connections_and_for_the_map_of_the_store() -> None:
    unit = _Unit(SYSTEMD / "foreseal.service")
    assert int(unit.value("LimitNOFILE")) > 2 * _settings().limits.open
    assert "LimitAS" not in unit["Service"]
    assert unit.value("LimitCORE") == "0"


def test_each_user_of_a_unit_is_created() -> None:
    created = re.findall(r"^u (\S+) ", (SYSTEMD / "foreseal.sysusers.conf").read_text(), re.MULTILINE)
    assert [_Unit(SYSTEMD / name).value("User") for name in UNITS] == created
