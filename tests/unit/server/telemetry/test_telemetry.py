"""Resources of the exported signals."""

import asyncio
import socket
import threading
from typing import Any, cast

import pytest

from foreseal.server.auth.callers import Caller
from foreseal.server.telemetry import telemetry
from foreseal.telemetry.configuration import TelemetryConfiguration, TraceSampling
from foreseal.telemetry.resource import service_resource


class BrokenTier:
    """A caller and its tier, which fails to answer."""

    name = "public"
    limiter = None

    @property
    def tier(self) -> "BrokenTier":
        return self

    def answer(self, *arguments: Any) -> Any:
        raise OSError("broken")


def test_resource_names_service_version_and_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OTEL_SERVICE_NAME", raising=False)
    monkeypatch.delenv("OTEL_RESOURCE_ATTRIBUTES", raising=False)
    attributes = service_resource("foreseal", "worker 1").attributes
    assert (attributes["service.name"], attributes["foreseal.process"]) == ("foreseal", "worker 1")
    assert attributes["service.version"]
    assert "foreseal.process" not in service_resource("foreseal", None).attributes


def test_variables_take_precedence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_SERVICE_NAME", "node-eu")
    monkeypatch.setenv("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=test,foreseal.process=x")
    attributes = service_resource("foreseal", "worker 1").attributes
    assert (attributes["service.name"], attributes["deployment.environment.name"]) == ("node-eu", "test")
    assert attributes["foreseal.process"] == "x"


def test_stop_does_not_wait_for_a_collector_that_hangs(monkeypatch: pytest.MonkeyPatch) -> None:
    connected, accepted = threading.Event(), threading.Event()
    monkeypatch.setattr(telemetry, "STOP_TIME", 0.05)
    with socket.create_server(("127.0.0.1", 0)) as silent:

        def accept() -> None:
            connection, _ = silent.accept()
            with connection:
                connected.set()
                accepted.wait(60)

        thread = threading.Thread(target=accept)
        thread.start()
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://127.0.0.1:{silent.getsockname()[1]}")

        async def run() -> None:
            exported = telemetry.Telemetry(TelemetryConfiguration(True, False, TraceSampling(1.0)), list, None)
            assert exported.tracer is not None
            with pytest.raises(OSError, match="broken"):
                exported.tracer.answer(cast(Caller, BrokenTier()), {}, b"{}", None)
            # The export hangs before the stop begins.
            threading.Thread(target=exported._provider.force_flush, name="otlp", daemon=True).start()
            assert await asyncio.to_thread(connected.wait, 60)
            await exported.stop()

        # The loop is closed without a join of the thread that still waits.
        asyncio.run(run())
        assert thread.is_alive()
        accepted.set()
        thread.join()
    # The exporter makes no further attempt.
    for exporting in threading.enumerate():
        if exporting.name == "otlp":
            exporting.join(30)
            assert not exporting.is_alive()
