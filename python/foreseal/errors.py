"""Errors that the native core raises."""


class RpcError(Exception):
    """A JSON-RPC method failed, or was refused.

    `code` and `message` are those of the error object; `data` is its data as JSON bytes, or None.
    """

    def __init__(self, code: int, message: str, data: bytes | None = None) -> None:
        super().__init__(code, message, data)
        self.code = code
        self.message = message
        self.data = data

    def __str__(self) -> str:
        return f"{self.message} ({self.code})"


class NodeError(Exception):
    """A node cannot be opened, or a command on its data directory failed.

    `kind` is one word for programs, `message` one line for people.
    """

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(kind, message)
        self.kind = kind
        self.message = message

    def __str__(self) -> str:
        return self.message
