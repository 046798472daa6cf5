"""Errors that end a benchmark."""


class BenchError(Exception):
    """A node that cannot be measured or returns a wrong result; the message is for people."""


class ErrorResponse(BenchError):
    """A JSON-RPC error object in place of a result."""

    def __init__(self, node: str, method: str, code: int, message: str) -> None:
        super().__init__(f"{node}: {method}: error {code}: {message}")
        self.code = code

    @property
    def unknown_method(self) -> bool:
        """Return True if the node does not implement the method."""
        return self.code in (-32601, -32004)

    @property
    def starting(self) -> bool:
        """True while the node is not ready: resource unavailable (EIP-1474), or geth's initial indexing."""
        return self.code == -32002 or "indexing is in progress" in str(self)
