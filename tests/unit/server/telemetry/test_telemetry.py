"""Resources of the exported signals."""

import pytest

from foreseal.server.telemetry.telemetry import service_resource


def test_resource_names_service_version_and_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OTEL_SERVICE_NAME", raising=False)
    monkeypatch.delenv("OTEL_RESOURCE_ATTRIBUTES", raising=False)
    found = service_resource("foreseal", "worker 1").attributes
    assert (found["service.name"], found["foreseal.process"]) == ("foreseal", "worker 1")
    assert found["service.version"]
    assert "foreseal.process" not in service_resource("foreseal", None).attributes


def test_variables_take_precedence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_SERVICE_NAME", "node-eu")
    monkeypatch.setenv("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=test,foreseal.process=x")
    found = service_resource("foreseal", "worker 1").attributes
    assert (found["service.name"], found["deployment.environment.name"]) == ("node-eu", "test")
    assert found["foreseal.process"] == "x"
