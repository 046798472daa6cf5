"""API keys: their format, their file, and the keys of a running process."""

import hashlib
import hmac
import logging
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from foreseal.rpc.rate import Rate, parse_rate, resolve_burst
from foreseal.server.auth.checksum import add_checksum, verify_checksum
from foreseal.server.settings import SettingsError
from foreseal.server.settings.model import DEDICATED, PUBLIC

log = logging.getLogger(__name__)

KEY_FILE = "keys.json"
"""Name of the key file in the data directory."""

_FORMAT = 1
_ID_BYTES, _SECRET_BYTES = 5, 32
_DIGITS = frozenset("0123456789abcdef")
_YEAR_10000 = 253_402_300_800
_UNRELEASED = (
    "an unreleased version of Foreseal wrote the file: remove it, and issue new keys with `foreseal keys create`"
)
# Required fields of an entry.
_REQUIRED_FIELDS = frozenset(("id", "name", "hash", "created"))


class KeyFileError(SettingsError):
    """The key file cannot be used; the message names it."""


@dataclass(frozen=True, slots=True)
class ApiKey:
    """An API key without its secret. Times are Unix seconds."""

    id: str
    name: str
    hash: str
    """SHA-256 of the whole key, hex."""
    created: int
    tier: str = DEDICATED
    rate: Rate | None = None
    """Rate limit of the key; None: that of its tier."""
    burst: int | None = None
    expires: int | None = None
    revoked: int | None = None

    def state(self, now: float) -> str:
        """Return the state: active, expired or revoked."""
        if self.revoked is not None:
            return "revoked"
        return "expired" if self.expires is not None and now >= self.expires else "active"


def create_key(
    name: str, now: int, random: Callable[[int], bytes] = secrets.token_bytes, **more: Any
) -> tuple[ApiKey, str]:
    """Create a key; return it with its text, which is not stored. `more` are fields of `ApiKey`."""
    ident = random(_ID_BYTES).hex()
    text = f"fs_{ident}_{random(_SECRET_BYTES).hex()}"
    return ApiKey(ident, name, hash_key(text), now, **more), text


def hash_key(text: str) -> str:
    """Return the stored hash of a key. A key has 256 random bits, so one fast hash resists brute force."""
    return hashlib.sha256(text.encode()).hexdigest()


def parse_key_id(text: str) -> str | None:
    """Return the public part of a possible key; None if the format is wrong."""
    kind, _, rest = text.partition("_")
    ident, _, secret = rest.partition("_")
    parts = ((ident, _ID_BYTES), (secret, _SECRET_BYTES))
    good = kind == "fs" and all(len(digits) == 2 * size and _DIGITS.issuperset(digits) for digits, size in parts)
    return ident if good else None


def read_keys(path: Path) -> dict[str, ApiKey]:
    """Read the keys in a file by id, none if there is no file. Raises `KeyFileError`."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise KeyFileError(f"cannot read the API keys in {path}: {error.strerror or error}") from None
    try:
        if _is_unreleased(data):
            raise ValueError(_UNRELEASED)  # noqa: TRY301
        verify_checksum(data)
        keys = [_key(entry) for entry in _entries(orjson.loads(data))]
    except (ValueError, TypeError) as error:
        raise KeyFileError(f"cannot use the API keys in {path}: {error}") from None
    by_id = {key.id: key for key in keys}
    if len(by_id) < len(keys):
        raise KeyFileError(f"cannot use the API keys in {path}: two have the same id")
    return by_id


def encode_keys(keys: Mapping[str, ApiKey]) -> bytes:
    """Return the content of a file of these keys."""
    entries = [_entry(key) for key in keys.values()]
    return add_checksum(orjson.dumps({"format": _FORMAT, "keys": entries}, option=orjson.OPT_INDENT_2))


def _is_unreleased(data: bytes) -> bool:
    """Return True if an unreleased version wrote the file: it has a version instead of a format."""
    try:
        content = orjson.loads(data)
    except ValueError:
        return False
    return isinstance(content, dict) and "version" in content and "format" not in content


def _entries(content: Any) -> list[Any]:
    """Return the entries of the file. Raise ValueError."""
    match content:
        case {"format": int(format_number), "keys": list(entries)} if format_number == _FORMAT:
            return entries
        case {"format": int(format_number)} if format_number > _FORMAT:
            raise ValueError(f"it has format {format_number}, newer than the supported format {_FORMAT}")
    raise ValueError("it must have a format and a list of keys")


def _entry(key: ApiKey) -> dict[str, Any]:
    fields = {name: getattr(key, name) for name in ApiKey.__slots__}
    return fields | {"rate": None if key.rate is None else str(key.rate)}


def _key(entry: Any) -> ApiKey:
    """Parse one entry of the file. Raises ValueError and TypeError."""
    if not isinstance(entry, dict):
        raise TypeError("an entry is not an object")
    strange, missing = entry.keys() - set(ApiKey.__slots__), _REQUIRED_FIELDS - entry.keys()
    if strange or missing:
        raise ValueError(f"an entry lacks {', '.join(sorted(missing))}" if missing else f"unknown: {sorted(strange)}")
    key = ApiKey(**entry | {"rate": None if entry.get("rate") is None else parse_rate(entry["rate"])})
    texts, times = (key.id, key.name, key.hash), (key.expires, key.revoked, key.created)
    numbers = isinstance(key.created, int) and all(isinstance(n, int | None) for n in (*times, key.burst))
    if not numbers or not all(isinstance(text, str) for text in texts):
        raise TypeError(f"the entry of key {key.id!r} has a field of a wrong type")
    if not all(time is None or 0 <= time < _YEAR_10000 for time in times):
        raise ValueError(f"the entry of key {key.id!r} has a timestamp out of range")
    if len(key.hash) != hashlib.sha256().digest_size * 2 or not _DIGITS.issuperset(key.hash):
        raise ValueError(f"the hash of key {key.id!r} must be SHA-256 in hex")
    if key.tier not in (PUBLIC, DEDICATED) or (key.burst is not None and key.burst < 1):
        raise ValueError(f"the tier or the burst of key {key.id!r} is invalid")
    if key.rate is not None:
        resolve_burst(key.rate, key.burst)
    return key


FileStamp = tuple[int, int, int] | None


class KeyStore:
    """Current keys of a data directory. Used from the event loop's thread only."""

    def __init__(self, path: Path, clock: Callable[[], float]) -> None:
        """Read the keys at `path`. `clock` returns Unix seconds. Raises `KeyFileError`."""
        self._path = path
        self._clock = clock
        self._stamp = self._logged_stamp = _stamp(path)
        self._keys = read_keys(path)

    def find(self, text: str) -> ApiKey | str:
        """Return the key with this text, or the reason of its rejection."""
        ident = parse_key_id(text)
        key = None if ident is None else self._keys.get(ident)
        # An unknown id is compared as well: the response time reveals nothing about ids.
        matches = hmac.compare_digest(hash_key(text), _UNKNOWN_KEY_HASH if key is None else key.hash)
        if key is None or not matches:
            return "unknown API key"
        state = key.state(self._clock())
        return key if state == "active" else f"the API key is {state}"

    def is_valid(self, key: ApiKey) -> bool:
        """Return True if a key that was found before is still valid and unchanged."""
        return self._keys.get(key.id) == key and key.state(self._clock()) == "active"

    def reload_if_changed(self) -> None:
        """Read the file again if it changed. A damaged file changes nothing and is logged once.

        Reading is retried at each check: the unreadable change may revoke a key.
        """
        stamp = _stamp(self._path)
        if stamp == self._stamp:
            return
        try:
            self._keys = read_keys(self._path)
        except KeyFileError as error:
            if stamp != self._logged_stamp:
                self._logged_stamp = stamp
                log.error("cannot read the file of API keys: keeping the previous keys", extra={"reason": str(error)})  # noqa: TRY400
            return
        self._stamp = self._logged_stamp = stamp
        log.info("API keys reloaded", extra={"keys": len(self._keys)})


_UNKNOWN_KEY_HASH = hash_key("")


def _stamp(path: Path) -> FileStamp:
    """Return a value that changes with the file."""
    try:
        stat_result = path.stat()
    except OSError:
        return None
    return stat_result.st_ino, stat_result.st_mtime_ns, stat_result.st_size
