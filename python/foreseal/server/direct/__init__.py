"""The `native` transport: the handler behind a protocol of the event loop, with no server and no task in between."""

from foreseal.server.direct.listener import DirectListener

__all__ = ["DirectListener"]
