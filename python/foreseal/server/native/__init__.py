"""The `native` transport: an asyncio protocol that calls the handler directly, without a server or task in between.

Design: docs/design/decisions/transports.md.
"""

from foreseal.server.native.listener import NativeListener

__all__ = ["NativeListener"]
