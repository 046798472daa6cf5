"""JSON-RPC 2.0 without a transport: envelopes, dispatch to the core, methods registered from Python."""

from foreseal.rpc.dispatch import Dispatcher, HttpReply
from foreseal.rpc.limits import Limits
from foreseal.rpc.registry import Registry

__all__ = ["Dispatcher", "HttpReply", "Limits", "Registry"]
