"""JSON-RPC error codes that Python itself returns; all others come from the core."""

PARSE = -32700
REQUEST = -32600
METHOD = -32601
PARAMS = -32602
INTERNAL = -32603
FORBIDDEN = -32004
LIMIT = -32005
