"""Interpreter settings of a serving process."""

import gc
from collections.abc import Iterator

import pytest

from foreseal.server import interpreter
from foreseal.server.settings.model import LogSettings


@pytest.fixture(autouse=True)
def unchanged_process(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Leave the logs of the process alone, and restore its garbage collector."""
    monkeypatch.setattr(interpreter, "configure_logs", lambda *_: None)
    thresholds = gc.get_threshold()
    yield
    gc.unfreeze()
    gc.set_threshold(*thresholds)
    gc.enable()


def test_collection_is_enabled_once_all_modules_are_imported() -> None:
    gc.disable()
    interpreter.configure_interpreter(LogSettings())
    assert gc.isenabled()
    assert gc.get_freeze_count() > 0
