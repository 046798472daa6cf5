"""The `native` transport: an asyncio protocol that calls the handler directly, without a server or task in between."""

from foreseal.server.direct.listener import DirectListener

__all__ = ["DirectListener"]
