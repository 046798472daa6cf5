"""Signatures of webhooks by the Standard Webhooks specification: HMAC-SHA256 over id, time and body.

They protect the receiver from altered and replayed webhooks. https://www.standardwebhooks.com has libraries for many
languages.
"""

import base64
import hmac
import secrets
from collections.abc import Callable, Mapping, Sequence

ID = "webhook-id"
"""Header with the id of the event. It is the same in every attempt, so a receiver can detect duplicates."""
TIMESTAMP = "webhook-timestamp"
"""Header with the time of the attempt, in seconds since 1970."""
SIGNATURE = "webhook-signature"
"""Header with one signature for each valid secret, separated by spaces."""
PREFIX = "whsec_"
TOLERANCE = 300
"""Maximum difference in seconds between the signature's time and the receiver's clock."""

_KEY_LENGTHS = range(24, 65)
_NEW_KEY_LENGTH = 32


class InvalidWebhookSignature(ValueError):
    """A webhook whose signature is invalid or too old."""


def new_secret(random: Callable[[int], bytes] = secrets.token_bytes) -> str:
    """Return a new random secret."""
    return PREFIX + base64.b64encode(random(_NEW_KEY_LENGTH)).decode()


def decode_secret(secret: str) -> bytes:
    """Return the key of a secret. Raises ValueError, whose message does not repeat the secret."""
    wrong = f"a webhook secret must be {PREFIX} and the base64 of {_KEY_LENGTHS[0]} to {_KEY_LENGTHS[-1]} bytes"
    if not secret.startswith(PREFIX):
        raise ValueError(f"{wrong}; the text does not begin with {PREFIX} (docs/merchants/service.md, Webhook secrets)")
    try:
        key = base64.b64decode(secret.removeprefix(PREFIX), validate=True)
    except ValueError:
        raise ValueError(f"{wrong}; the text after {PREFIX} is not base64") from None
    if len(key) not in _KEY_LENGTHS:
        raise ValueError(f"{wrong}; it has {len(key)}")
    return key


def decode_secrets(text: str) -> tuple[str, ...]:
    """Return one or two secrets that are separated by white space, the newest first. Raises ValueError."""
    encoded = tuple(text.split())
    if not 1 <= len(encoded) <= 2:
        raise ValueError(f"must have one webhook secret, or a new and a previous one, but there are {len(encoded)}")
    for secret in encoded:
        decode_secret(secret)
    return encoded


def sign(keys: Sequence[bytes], id: str, time: int, body: bytes) -> dict[str, str]:
    """Return the headers of a webhook that is sent at `time`, in seconds since 1970, signed with each key."""
    signatures = " ".join(f"v1,{_mac(key, id, time, body)}" for key in keys)
    return {ID: id, TIMESTAMP: str(time), SIGNATURE: signatures}


def verify(secret: str, headers: Mapping[str, str], body: bytes, now: float, tolerance: float = TOLERANCE) -> None:
    """Verify a received webhook over its exact body bytes. Names of headers are in lower case.

    Raises `InvalidWebhookSignature`, and ValueError if the secret is invalid.
    """
    key = decode_secret(secret)
    missing = [name for name in (ID, TIMESTAMP, SIGNATURE) if not headers.get(name)]
    if missing:
        raise InvalidWebhookSignature(f"{missing[0]}: the header is missing")
    stamp = headers[TIMESTAMP]
    if not (stamp.isascii() and stamp.isdigit() and len(stamp) < 13):
        raise InvalidWebhookSignature(f"{TIMESTAMP}: {stamp[:100]!r} must be a time in seconds")
    expected = f"v1,{_mac(key, headers[ID], int(stamp), body)}".encode()
    # Every signature is compared, so the time does not depend on which one matches.
    matches = [hmac.compare_digest(expected, given.encode(errors="replace")) for given in headers[SIGNATURE].split(" ")]
    if not any(matches):
        raise InvalidWebhookSignature(f"{SIGNATURE}: no signature matches this id, time, body and secret")
    if abs(now - int(stamp)) > tolerance:
        raise InvalidWebhookSignature(f"{TIMESTAMP}: the signature is {now - int(stamp):.0f} s old")


def _mac(key: bytes, id: str, time: int, body: bytes) -> str:
    return base64.b64encode(hmac.digest(key, b"%b.%d.%b" % (id.encode(), time, body), "sha256")).decode()
