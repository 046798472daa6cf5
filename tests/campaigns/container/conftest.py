"""The image, built once for all tests of the folder."""

import os
from collections.abc import Iterator

import pytest

from container.images import ContainerTools


@pytest.fixture(scope="session")
def tools(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ContainerTools]:
    """Build the image with buildah and podman of the folder. Skips the test without `make container`."""
    if os.environ.get("FORESEAL_CONTAINER") != "all":
        pytest.skip("builds an image in minutes: run `make container`")
    tools = ContainerTools(tmp_path_factory.mktemp("containers"))
    try:
        tools.build()
        yield tools
    finally:
        tools.close()
