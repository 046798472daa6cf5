"""The merchant that a thread or request works for: a field of each log line in a process with several merchants.

A context variable has the name. Threads do not inherit it, so each component passes on the context in which it was
built, by `inherit_context` or, for pools, `inherit_merchant`.
"""

import contextlib
import logging
from collections.abc import Callable, Iterator
from contextvars import ContextVar, copy_context
from functools import partial

_merchant: ContextVar[str | None] = ContextVar("merchant", default=None)


@contextlib.contextmanager
def merchant_context(name: str | None) -> Iterator[None]:
    """Run the block for the merchant with this name; None: for the only one."""
    token = _merchant.set(name)
    try:
        yield
    finally:
        _merchant.reset(token)


def inherit_context(run: Callable[[], None]) -> Callable[[], None]:
    """Return the target of a new thread that runs in a copy of the current context."""
    return partial(copy_context().run, run)


def inherit_merchant() -> Callable[[], None]:
    """Return an initializer of pool threads, which sets their merchant to the current one."""
    return partial(_set_merchant, _merchant.get())


def _set_merchant(name: str | None) -> None:
    _merchant.set(name)


class MerchantFilter(logging.Filter):
    """Adds the field `merchant` to records of a merchant. Add it to handlers: filters of loggers miss child loggers."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Add the field and accept the record."""
        name = _merchant.get()
        if name is not None:
            record.merchant = name
        return True
