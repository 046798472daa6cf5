"""The patterns by name."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from hostile.client import Client

Attack = Callable[[Client], Awaitable[None]]
"""Behaviour of one hostile address until its time is over."""


@dataclass(frozen=True)
class Pattern:
    """One kind of hostile traffic."""

    name: str
    group: str
    description: str
    attack: Attack
    transports: tuple[str, ...]
    tls: bool
    """True if it needs a node with TLS."""


PATTERNS: dict[str, Pattern] = {}


def pattern(
    name: str,
    description: str,
    *,
    transports: tuple[str, ...] = ("native", "asgi"),
    tls: bool = False,
) -> Callable[[Attack], Attack]:
    """Register a pattern; its group is the module that defines it."""

    def decorate(attack: Attack) -> Attack:
        group = attack.__module__.rpartition(".")[2]
        register(name, description, attack, group=group, transports=transports, tls=tls)
        return attack

    return decorate


def register(
    name: str,
    description: str,
    attack: Attack,
    *,
    group: str,
    transports: tuple[str, ...] = ("native", "asgi"),
    tls: bool = False,
) -> None:
    """Register a pattern of a group. Raise `ValueError` if the name is used."""
    if name in PATTERNS:
        raise ValueError(f"two patterns are named {name}")
    PATTERNS[name] = Pattern(name, group, description, attack, transports, tls)
