"""Readings of node and service in a thread, so that keys work while a machine does not answer."""

import threading
import time
from collections.abc import Callable
from typing import NamedTuple

from foreseal.top.frame import FrameModel
from foreseal.top.node_model import build_node_model
from foreseal.top.node_sample import NodeSample, NodeSampler
from foreseal.top.service_model import build_service_model
from foreseal.top.service_sample import ServiceSample, ServiceSampler


class TopSamplers(NamedTuple):
    """Samplers of the machines in view."""

    node: NodeSampler
    service: ServiceSampler | None = None


class ModelBuilder:
    """Takes readings, and computes figures from each reading and the one before."""

    def __init__(self, samplers: TopSamplers, wall: Callable[[], float] = time.time) -> None:
        """`wall` is Unix time in seconds."""
        self._samplers = samplers
        self._wall = wall
        self._node: NodeSample | None = None
        self._service: ServiceSample | None = None

    def next(self) -> FrameModel:
        """Return the figures of the next reading."""
        node = self._samplers.node.sample()
        model = FrameModel(build_node_model(self._node, node, self._wall()))
        # After a failed reading there is no earlier one to compare with.
        self._node = None if node.fault else node
        if self._samplers.service is None:
            return model
        service = self._samplers.service.sample()
        service_model = build_service_model(self._service, service)
        self._service = None if service.fault else service
        return FrameModel(model.node, service_model)


class SamplingThread:
    """Takes a reading per interval until it is stopped."""

    def __init__(self, builder: ModelBuilder, interval: float) -> None:
        """`interval` is in seconds."""
        self._builder = builder
        self._interval = interval
        self._stopped = threading.Event()
        self._model: FrameModel | None = None
        self._error: Exception | None = None
        # A daemon: a request in progress must not delay the exit.
        self._thread = threading.Thread(target=self._run, name="sampling", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """Take no further reading. Does not wait for a request in progress."""
        self._stopped.set()

    def model(self) -> FrameModel | None:
        """Return the newest figures; None before the first. Raises the error that ended the thread."""
        if self._error is not None:
            raise self._error
        return self._model

    def _run(self) -> None:
        try:
            while not self._stopped.is_set():
                began = time.monotonic()
                self._model = self._builder.next()
                self._stopped.wait(max(0.0, began + self._interval - time.monotonic()))
        except Exception as error:
            self._error = error
