"""Kinds of setting values: their notation in each source, and their range."""

import ipaddress
from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from foreseal.rpc.rate import Rate, parse_rate
from foreseal.server.logs import LEVELS, parse_levels
from foreseal.server.settings.durations import format_duration, parse_duration
from foreseal.server.settings.origin_name import normalize_origin
from foreseal.server.sockets.address import UNIX, is_loopback, join_address, parse_address, parse_admin_address

MAX_INTEGER = 2**63 - 1
"""Largest value of any number, unless its kind has another."""

PlainValue = bool | int | str | list[str]
"""A value in the types of TOML and JSON."""


class ValueKind(ABC):
    """Kind of a setting's values. `parse` and `read` raise ValueError, `read` also TypeError."""

    metavar = "TEXT"
    """Placeholder of a value in the help of an option."""
    bounds = ""
    """Text of the range of allowed values; empty if unlimited."""

    @property
    @abstractmethod
    def allowed(self) -> str:
        """Description of allowed values for people."""

    @abstractmethod
    def parse(self, text: str) -> Any:
        """Parse the text of an option or a variable."""

    def read(self, value: Any) -> Any:
        """Convert the value in a file, of one of TOML's types."""
        if not isinstance(value, str):
            raise TypeError(f"expected a string in quotes, got {in_toml(value)}")
        return self.parse(value)

    def fits(self, _value: Any) -> bool:
        """Return True if a value is within the bounds."""
        return True

    def misfit(self, value: Any, subject: str) -> str:
        """Return the error for a value outside the bounds."""
        return f"{subject} must be {self.bounds}, got {self.plain(value)}"

    def plain(self, value: Any) -> PlainValue:
        """Return the value in the notation of a file."""
        return str(value)


def in_toml(value: Any) -> str:
    """Format a plain value as TOML."""
    return orjson.dumps(value, default=str).decode().replace('","', '", "')


@dataclass(frozen=True, slots=True)
class TextKind(ValueKind):
    """Any text."""

    metavar: str = "TEXT"

    @property
    def allowed(self) -> str:
        return "text"

    def parse(self, text: str) -> str:
        return text


@dataclass(frozen=True, slots=True)
class Choice(ValueKind):
    """One of several names."""

    choices: tuple[str, ...]

    @property
    def metavar(self) -> str:  # type: ignore[override]
        return "|".join(self.choices)

    @property
    def allowed(self) -> str:
        return "one of " + ", ".join(self.choices)

    def parse(self, text: str) -> str:
        if text not in self.choices:
            raise ValueError(f"{text!r} is not one of {', '.join(self.choices)}")
        return text


class Levels(ValueKind):
    """Log levels: one for all, and others by target."""

    metavar = "LEVELS"

    @property
    def allowed(self) -> str:
        return f"one of {', '.join(LEVELS)}, optionally followed by TARGET=LEVEL entries, separated by commas"

    def parse(self, text: str) -> str:
        return parse_levels(text)


class Flag(ValueKind):
    """True or false."""

    metavar = ""

    @property
    def allowed(self) -> str:
        return "true or false"

    def parse(self, text: str) -> bool:
        if text.lower() in ("1", "true", "yes", "on"):
            return True
        if text.lower() in ("0", "false", "no", "off"):
            return False
        raise ValueError(f"expected true or false, got {text!r}")

    def read(self, value: Any) -> bool:
        if not isinstance(value, bool):
            raise TypeError(f"expected true or false, got {in_toml(value)}")
        return value

    def plain(self, value: Any) -> bool:
        return bool(value)


@dataclass(frozen=True, slots=True)
class Integer(ValueKind):
    """A whole number, in `unit`."""

    minimum: int = 1
    maximum: int = MAX_INTEGER
    unit: str = ""

    @property
    def metavar(self) -> str:  # type: ignore[override]
        return "BYTES" if self.unit == "bytes" else "N"

    @property
    def bounds(self) -> str:  # type: ignore[override]
        return f"at least {self.minimum} and at most {self.maximum}"

    @property
    def allowed(self) -> str:
        upper_bound = "" if self.maximum == MAX_INTEGER else f" and at most {self.maximum}"
        return f"a whole number{' of ' + self.unit if self.unit else ''}, at least {self.minimum}{upper_bound}"

    def parse(self, text: str) -> int:
        number = text.strip()
        # A minus sign is accepted, so that the error for -1 names the range.
        if not number.isascii() or not number.removeprefix("-").isdigit() or len(number) > _MAX_DIGITS:
            raise ValueError(f"expected a whole number, got {text!r}")
        return int(number)

    def read(self, value: Any) -> int:
        if not isinstance(value, int) or isinstance(value, bool):
            raise TypeError(f"expected a whole number, got {in_toml(value)}")
        return value

    def fits(self, value: Any) -> bool:
        return bool(self.minimum <= value <= self.maximum)

    def plain(self, value: Any) -> int:
        return int(value)


# More digits than the largest number with a bound of its own has.
_MAX_DIGITS = 80


@dataclass(frozen=True, slots=True)
class Duration(ValueKind):
    """Milliseconds, written 200ms, 2s or 1m; with `seconds`, a number without unit means seconds."""

    minimum: int = 1
    seconds: bool = False

    metavar = "DURATION"

    @property
    def bounds(self) -> str:  # type: ignore[override]
        return f"at least {format_duration(self.minimum)}"

    @property
    def allowed(self) -> str:
        return "a whole number and its unit, such as 200ms, 2s or 1m"

    def parse(self, text: str) -> int:
        return parse_duration(text + "s" if self.seconds and text.strip().isdigit() else text)

    def fits(self, value: Any) -> bool:
        return bool(value >= self.minimum)

    def plain(self, value: Any) -> str:
        return format_duration(value)


@dataclass(frozen=True, slots=True)
class FilePath(ValueKind):
    """Path of a file; with `there`, an option only accepts an existing file."""

    there: bool = False

    metavar = "FILE"

    @property
    def allowed(self) -> str:
        return "the path of a file"

    def parse(self, text: str) -> Path:
        return Path(text)


class Folder(ValueKind):
    """Path of a folder."""

    metavar = "FOLDER"

    @property
    def allowed(self) -> str:
        return "the path of a folder"

    def parse(self, text: str) -> Path:
        return Path(text)


@dataclass(frozen=True, slots=True)
class HexBytes(ValueKind):
    """Bytes as 0x hex, of an exact or a maximum length."""

    max_size: int
    exact: bool = False
    metavar: str = "HEX"

    @property
    def allowed(self) -> str:
        return f"0x and two hex digits for each of {'exactly' if self.exact else 'at most'} {self.max_size} bytes"

    def parse(self, text: str) -> str:
        try:
            data = bytes.fromhex(text.removeprefix("0x"))
        except ValueError:
            data = None
        if data is None or not text.startswith("0x") or any(c.isspace() for c in text):
            raise ValueError(f"{text!r} is not hex: write 0x and two digits for each byte")
        if len(data) > self.max_size or (self.exact and len(data) != self.max_size):
            bound = "exactly" if self.exact else "at most"
            raise ValueError(f"{text!r} must have {bound} {self.max_size} bytes, got {len(data)}")
        return text


class AdminAddress(ValueKind):
    """Local address of a listener: host and port, or the path of a Unix socket."""

    metavar = "ADDRESS"

    @property
    def allowed(self) -> str:
        return "unix:PATH, or HOST:PORT with a loopback address"

    def parse(self, text: str) -> tuple[str, int] | Path:
        return parse_admin_address(text)

    def fits(self, value: Any) -> bool:
        return isinstance(value, Path) or is_loopback(value[0])

    def misfit(self, value: Any, _subject: str) -> str:
        return (
            f"the admin listener must have a loopback address, got {self.plain(value)}: "
            "write 127.0.0.1:PORT, [::1]:PORT or unix:PATH"
        )

    def plain(self, value: Any) -> str:
        if isinstance(value, Path):
            return f"{UNIX}{value}"
        return join_address(value)


class ListenerAddress(ValueKind):
    """Host and port of a listener."""

    metavar = "ADDRESS"

    @property
    def allowed(self) -> str:
        return "HOST:PORT"

    def parse(self, text: str) -> tuple[str, int]:
        return parse_address(text)

    def plain(self, value: Any) -> str:
        return join_address(value)


class Names(ValueKind):
    """Names in lower case: comma-separated in a variable, a list in a file, an option repeated."""

    metavar = "NAME"

    @property
    def allowed(self) -> str:
        return "a list of names"

    def parse(self, text: str) -> frozenset[str]:
        return frozenset(self.normalize(name.strip()) for name in text.split(",") if name.strip())

    def normalize(self, name: str) -> str:
        """Validate and normalize one name."""
        return name.lower()

    def read(self, value: Any) -> frozenset[str]:
        if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
            raise TypeError(f"expected a list of strings, got {in_toml(value)}")
        return self.parse(",".join(value))

    def plain(self, value: Any) -> list[str]:
        return sorted(value)


class FeedAddresses(ValueKind):
    """Addresses of feeds, in order: comma-separated, or a list in a file."""

    metavar = "ADDRESS,..."

    @property
    def allowed(self) -> str:
        return "a list of addresses, such as tls://10.0.0.1:8600"

    def parse(self, text: str) -> tuple[str, ...]:
        return tuple(address.strip() for address in text.split(",") if address.strip())

    def read(self, value: Any) -> tuple[str, ...]:
        if isinstance(value, str):
            return self.parse(value)
        if not isinstance(value, list) or not all(isinstance(address, str) for address in value):
            raise TypeError(f"expected a list of strings, got {in_toml(value)}")
        return self.parse(",".join(value))

    def plain(self, value: Any) -> list[str]:
        return list(value)


class HostPort(ValueKind):
    """Host and port."""

    metavar = "HOST:PORT"

    @property
    def allowed(self) -> str:
        return "a host and a port, such as 0.0.0.0:8600"

    def parse(self, text: str) -> str:
        parse_address(text)
        return text.strip()


class MethodNames(Names):
    """Method names, or prefixes of them: `debug_*`."""

    metavar = "METHOD"

    @property
    def allowed(self) -> str:
        return "a list of methods or prefixes such as debug_*"

    def normalize(self, name: str) -> str:
        if "*" in name.removesuffix("*") or not name.isascii() or any(c.isspace() for c in name):
            raise ValueError(f"{name!r} is not a method: write a name, or a prefix and *")
        return name


class Networks(Names):
    """Addresses and networks."""

    metavar = "ADDRESS"

    @property
    def allowed(self) -> str:
        return "a list of addresses or networks such as 10.0.0.0/8"

    def normalize(self, name: str) -> str:
        try:
            network = ipaddress.ip_network(name)
        except ValueError:
            raise ValueError(f"{name!r} is not an address or network: write 10.0.0.7, 10.0.0.0/8 or fd00::/8") from None
        if not network.prefixlen:
            raise ValueError(f"{name!r} would trust every client: list only the networks of your proxies")
        return str(network)


class OriginNames(Names):
    """Origins of web pages in the notation of browsers."""

    metavar = "ORIGIN"

    @property
    def allowed(self) -> str:
        return "a list of origins such as https://app.example, * for any, or null"

    def normalize(self, name: str) -> str:
        origin = "*" if name == "*" else normalize_origin(name)
        if origin is None:
            raise ValueError(
                f"{name!r} is not an origin: write SCHEME://HOST[:PORT] without a path, in ASCII as browsers send it"
            )
        return origin


class RateKind(ValueKind):
    """Number of calls in a second, a minute or an hour."""

    metavar = "RATE"

    @property
    def allowed(self) -> str:
        return "a number of calls per unit of time, such as 100/s, 600/m or 5000/h; 0 for no limit"

    def parse(self, text: str) -> Rate:
        return parse_rate(text)

    def read(self, value: Any) -> Rate:
        if not isinstance(value, str | int) or isinstance(value, bool):
            raise TypeError(f"expected a rate such as 100/s, got {in_toml(value)}")
        return parse_rate(value)
