"""Webhook signatures: HMAC-SHA256 over time and body, which rejects replayed and altered webhooks."""

import hashlib
import hmac
import re

HEADER = "Foreseal-Signature"
TOLERANCE = 300
"""Maximum difference in seconds between the signature's time and the receiver's clock."""

_FORM = re.compile(r"t=([0-9]{1,12}),v1=([0-9a-f]{64})")


class InvalidWebhookSignature(ValueError):
    """A webhook whose signature is invalid or too old."""


def sign(secret: str, time: int, body: bytes) -> str:
    """Return the signature header of a body that is sent at `time`, in seconds since 1970."""
    return f"t={time},v1={_mac(secret, time, body)}"


def verify(secret: str, header: str, body: bytes, now: float, tolerance: float = TOLERANCE) -> None:
    """Verify a received webhook over its exact body bytes. Raises `InvalidWebhookSignature`."""
    match = _FORM.fullmatch(header)
    if match is None:
        raise InvalidWebhookSignature(f"{HEADER}: {header[:100]!r} is not a signature")
    if not hmac.compare_digest(_mac(secret, int(match[1]), body), match[2]):
        raise InvalidWebhookSignature(f"{HEADER}: the signature does not match this body and secret")
    if abs(now - int(match[1])) > tolerance:
        raise InvalidWebhookSignature(f"{HEADER}: the signature is {now - int(match[1]):.0f} s old")


def _mac(secret: str, time: int, body: bytes) -> str:
    return hmac.new(secret.encode(), b"%d." % time + body, hashlib.sha256).hexdigest()
