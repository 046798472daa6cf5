"""Column types with the same meaning on SQLite and PostgreSQL."""

from decimal import Decimal
from enum import StrEnum
from typing import Any, TypeVar

from sqlalchemy import Dialect, Numeric, String
from sqlalchemy.types import TypeDecorator, TypeEngine

from foreseal.payments.amounts import check_amount

# Digits of 2**256 - 1.
_DIGITS = 78

E = TypeVar("E", bound=StrEnum)


class Units(TypeDecorator[int]):
    """A uint256, exact: numeric(78) on PostgreSQL, elsewhere decimal text of fixed width with the same sort order.

    Never sum it in SQL: SQLite would convert the texts to floats.
    """

    impl = String
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        """Return the type for the database's dialect."""
        if dialect.name == "postgresql":
            return dialect.type_descriptor(Numeric(_DIGITS, 0))
        return dialect.type_descriptor(String(_DIGITS))

    def process_bind_param(self, value: int | None, dialect: Dialect) -> object:
        """Encode a value. Raises TypeError and ValueError unless it is a uint256."""
        if value is None:
            return None
        number = check_amount(value)
        return Decimal(number) if dialect.name == "postgresql" else f"{number:0{_DIGITS}}"

    def process_result_value(self, value: Any, dialect: Dialect) -> int | None:
        """Decode a stored value."""
        return None if value is None else int(value)


class EnumText(TypeDecorator[E]):
    """A value of one or more enumerations, stored as a text."""

    impl = String
    cache_ok = True

    def __init__(self, *enumerations: type[E]) -> None:
        super().__init__(40)
        self.enumerations = enumerations

    def process_bind_param(self, value: E | None, dialect: Dialect) -> object:
        """Encode a value as its stored text. Raises ValueError for a value of another enumeration."""
        if value is not None and not isinstance(value, self.enumerations):
            raise ValueError(
                f"{value!r} is not a {' or '.join(enumeration.__name__ for enumeration in self.enumerations)}"
            )
        return None if value is None else value.value

    def process_result_value(self, value: str | None, dialect: Dialect) -> E | None:
        """Decode a stored text. Raises ValueError."""
        if value is None:
            return None
        members = {member.value: member for enumeration in self.enumerations for member in enumeration}
        try:
            return members[value]
        except KeyError:
            raise ValueError(
                f"{value!r} is not a {' or '.join(enumeration.__name__ for enumeration in self.enumerations)}"
            ) from None
