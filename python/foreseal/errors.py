"""Exceptions raised by the native core."""


class RpcError(Exception):
    """A JSON-RPC method failed, or the node rejected the call.

    `code` and `message` are those of the error object; `data` is its data as JSON bytes, or None.
    """

    def __init__(self, code: int, message: str, data: bytes | None = None) -> None:
        super().__init__(code, message, data)
        self.code = code
        self.message = message
        self.data = data

    def __str__(self) -> str:
        return f"{self.message} ({self.code})"


# Kinds of `NodeError` that are caused by the command line or the settings.
_USAGE_KINDS = frozenset({"in-use", "settings", "genesis", "store"})


class NodeError(Exception):
    """A node cannot be opened, or a command on its data directory failed.

    `kind` is a machine-readable word, `message` one line for people.
    """

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(kind, message)
        self.kind = kind
        self.message = message

    @property
    def is_usage_error(self) -> bool:
        """True if another command line or other settings would avoid the error; retrying does not help."""
        return self.kind in _USAGE_KINDS

    def __str__(self) -> str:
        return self.message


class PreconfirmationError(ValueError):
    """A pre-confirmation receipt is invalid: it proves no commitment.

    `field` is the field of the receipt that contradicts the others or the caller's arguments; `reason` explains the
    contradiction. `which` is the position of the receipt if several were passed, otherwise None.
    """

    def __init__(self, field: str, reason: str, which: int | None = None) -> None:
        super().__init__(field, reason, which)
        self.field = field
        self.reason = reason
        self.which = which

    def __str__(self) -> str:
        where = "" if self.which is None else f"receipt {self.which + 1}: "
        return f"{where}{self.field}: {self.reason}"
