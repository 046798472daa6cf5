"""Conflicts between merchants of one process, which must not share a name, a database or a payee's key."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import TypeVar

from foreseal.payments.configuration import Configuration, ConfigurationError
from foreseal.payments.ledger.database_identity import DatabaseIdentity

T = TypeVar("T", Configuration, "MerchantPayees", "MerchantResources")


@dataclass(frozen=True, slots=True)
class MerchantPayees:
    """Payees of a merchant."""

    path: Path
    """Configuration file."""
    chain_id: int
    payees: frozenset[str]
    """Addresses of the keys that send transactions."""


@dataclass(frozen=True, slots=True)
class MerchantResources(MerchantPayees):
    """Resources of a merchant that no other one may use."""

    database: DatabaseIdentity
    process_name: str


def check_configurations(configurations: Sequence[Configuration]) -> None:
    """Check the files of one process. Raises `ConfigurationError` with all conflicts."""
    _raise_problems([*_missing_names(configurations), *_pairs(configurations, _configuration_conflicts)])


def check_payees(payees: Sequence[MerchantPayees]) -> None:
    """Check the payees of several merchants, which each have a database. Raises `ConfigurationError`."""
    _raise_problems(list(_pairs(payees, _payee_conflicts)))


def check_resources(resources: Sequence[MerchantResources]) -> None:
    """Check the opened resources of one process. Raises `ConfigurationError` with all conflicts."""
    _raise_problems(list(_pairs(resources, _resource_conflicts)))


def _raise_problems(problems: list[str]) -> None:
    if problems:
        raise ConfigurationError(problems)


def _missing_names(configurations: Sequence[Configuration]) -> Iterator[str]:
    if len(configurations) > 1:
        for each in configurations:
            if each.merchant is None:
                yield f"{each.path}: the section [merchant] is missing: several merchants in one process need names"


def _pairs(items: Sequence[T], conflicts: Callable[[T, T], Iterator[str]]) -> Iterator[str]:
    for one, other in combinations(items, 2):
        yield from (f"{one.path} and {other.path}: {conflict}" for conflict in conflicts(one, other))


def _configuration_conflicts(one: Configuration, other: Configuration) -> Iterator[str]:
    if one.path.resolve() == other.path.resolve():
        yield "are the same file"
        return
    if one.merchant is not None and one.merchant == other.merchant:
        yield f"merchant.name is {one.merchant.name} in both: each merchant needs its own name"
    if one.serve.listen != other.serve.listen:
        addresses = " and ".join(f"{host}:{port}" for host, port in (one.serve.listen, other.serve.listen))
        yield f"serve.listen must be equal, because a process has one listener, got {addresses}"


def _resource_conflicts(one: MerchantResources, other: MerchantResources) -> Iterator[str]:
    if one.database.tables == other.database.tables:
        yield "database.url leads to the same database: each merchant needs its own"
    elif (one.database.database, one.process_name) == (other.database.database, other.process_name):
        yield (
            f"the processes have the same name {one.process_name} in one PostgreSQL database: set different names "
            "([serve] name)"
        )
    yield from _payee_conflicts(one, other)


def _payee_conflicts(one: MerchantPayees, other: MerchantPayees) -> Iterator[str]:
    if one.chain_id == other.chain_id:
        for payee in sorted(one.payees & other.payees):
            yield (
                f"the payee is {payee} on chain {one.chain_id} in both: two services with one key would send "
                "transactions with the same account nonces, and one payment could pay a sale of each: services with "
                "one payee need one database"
            )
