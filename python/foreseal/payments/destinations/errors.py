"""Errors about destinations."""

from foreseal.payments.ledger import LedgerError


class UnknownDestination(ValueError):
    """No destination has the name."""

    def __init__(self, name: str, names: tuple[str, ...]) -> None:
        super().__init__(f"destination: {name!r} is not configured, expected one of {', '.join(names)}")


class DestinationNotConfigured(LedgerError):
    """The destination of a row is no longer configured, so no key may act for it."""

    def __init__(self, subject: str, token: str, payee: str) -> None:
        super().__init__(subject, token, payee)
        self.subject = subject
        self.token = token
        self.payee = payee

    def __str__(self) -> str:
        return f"{self.subject}: no configured destination has the token {self.token} and the payee {self.payee}"
