"""What ends a benchmark."""


class BenchError(Exception):
    """A node that cannot be measured, or that answers what it must not; the message is for people."""


class Refused(BenchError):
    """An error object in the place of a result."""

    def __init__(self, node: str, method: str, code: int, message: str) -> None:
        super().__init__(f"{node}: {method}: error {code}: {message}")
        self.code = code

    @property
    def unknown_method(self) -> bool:
        """Whether the node does not have the method."""
        return self.code in (-32601, -32004)

    @property
    def starting(self) -> bool:
        """Whether the node is not ready yet: resource unavailable (EIP-1474), or as geth says it at first."""
        return self.code == -32002 or "indexing is in progress" in str(self)
