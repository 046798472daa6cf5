"""The wheel under test."""

from pathlib import Path

import pytest

from distribution.build import build_wheel


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel from the output of `make build`."""
    return build_wheel("release", tmp_path_factory.mktemp("wheel"))
