"""Advancing many rows independently of each other's errors."""

from collections.abc import Callable, Iterable

from foreseal.payments.chain import ChainError
from foreseal.payments.ledger import LedgerError
from foreseal.payments.transactions.errors import SendingError


def advance_rows(ids: Iterable[str], advance: Callable[[str], object]) -> dict[str, Exception]:
    """Advance each row, for example after a start. Return the errors by id."""
    errors: dict[str, Exception] = {}
    for id in ids:
        try:
            advance(id)
        except (ChainError, LedgerError, SendingError) as error:
            errors[id] = error
    return errors
