"""All destinations of a service: by name for requests, by token and payee for the rows of the ledger."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Self

from foreseal.payments.configuration import Configuration, ConfigurationError, ConfiguredDestination, same_pair
from foreseal.payments.destinations.destination import Destination, DestinationContext
from foreseal.payments.destinations.errors import UnknownDestination
from foreseal.payments.destinations.label import DestinationLabels
from foreseal.payments.transactions import TransactionSigner


@dataclass(frozen=True, slots=True)
class ConfiguredSigner:
    """A configured destination, and the signer of its payee."""

    destination: ConfiguredDestination
    signer: TransactionSigner


class Destinations:
    """Destinations, the default first."""

    def __init__(self, destinations: Sequence[Destination]) -> None:
        """Set up. No two destinations share a name, or both token and receiver."""
        self._destinations = tuple(destinations)
        self._by_name = {each.name: each for each in destinations}
        self._by_receiver = {
            (each.merchant.domain.contract, receiver): each
            for each in destinations
            for receiver in each.merchant.receivers
        }
        self.labels = DestinationLabels(each.label for each in destinations)

    @classmethod
    def build(cls, signers: Sequence[ConfiguredSigner], context: DestinationContext) -> Self:
        """Build the destinations of `list_signers`."""
        return cls([Destination.build(each.destination, each.signer, context) for each in signers])

    def __iter__(self) -> Iterator[Destination]:
        """Iterate over all destinations, the default first."""
        return iter(self._destinations)

    @property
    def default(self) -> Destination:
        """Destination of requests that name none."""
        return self._destinations[0]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all."""
        return tuple(self._by_name)

    def get(self, name: str | None) -> Destination:
        """Return a destination by its name, the default for None. Raises `UnknownDestination`."""
        destination = self.default if name is None else self._by_name.get(name)
        if destination is None:
            assert name is not None
            raise UnknownDestination(name, self.names)
        return destination

    def find(self, token: str, receiver: str) -> Destination | None:
        """Return the destination at which a transfer of a token to this account arrives; None without one."""
        return self._by_receiver.get((token, receiver))


def list_signers(configuration: Configuration, environment: Mapping[str, str]) -> list[ConfiguredSigner]:
    """Return all configured destinations with their signers.

    Raises `ConfigurationError`, also if the accounts contradict each other, and `SecretError`.
    """
    signers: list[tuple[object, TransactionSigner]] = []
    configured: list[ConfiguredSigner] = []
    for each in configuration.list_destinations():
        # Destinations with one section share its signer, and so its connection.
        signer = next((known for section, known in signers if section == each.payee), None)
        if signer is None:
            signer = each.payee.signer(environment)
            signers.append((each.payee, signer))
        configured.append(ConfiguredSigner(each, signer))
    problems = [f"{configuration.path}: {problem}" for problem in _account_problems(configured)]
    if problems:
        raise ConfigurationError(problems)
    return configured


def _account_problems(signers: Sequence[ConfiguredSigner]) -> Iterator[str]:
    """Yield the contradictions between the accounts of destinations."""
    for number, one in enumerate(signers):
        each = one.destination
        if each.batch_capture == one.signer.address:
            yield f"{each.path('batch_capture')}: must not be the payee"
        for other in signers[:number]:
            if each.token.address != other.destination.token.address:
                continue
            if one.signer.address == other.signer.address:
                yield same_pair(each, other.destination)
            for contract, payee in ((one, other), (other, one)):
                if contract.destination.batch_capture == payee.signer.address:
                    path = contract.destination.path("batch_capture")
                    yield f"{path}: must not be the payee of another destination"
