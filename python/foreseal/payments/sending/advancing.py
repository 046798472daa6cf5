"""Going on with many things, of which none holds up the others."""

from collections.abc import Callable, Iterable

from foreseal.payments.chain import ChainError
from foreseal.payments.ledger import LedgerError
from foreseal.payments.sending.errors import SendingError


def advance_each(ids: Iterable[str], advance: Callable[[str], object]) -> dict[str, Exception]:
    """Advance each, as after a start; what went wrong, by id."""
    errors: dict[str, Exception] = {}
    for id in ids:
        try:
            advance(id)
        except (ChainError, LedgerError, SendingError) as error:
            errors[id] = error
    return errors
