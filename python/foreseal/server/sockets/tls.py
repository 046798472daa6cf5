"""Certificate and key of a listener: verified before anything starts, by a handshake with itself."""

import ssl
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_DAY = 86_400
# Days before the expiry of a certificate from which a start warns.
EXPIRY_WARNING_DAYS = 14
# X509_V_FLAG_NO_CHECK_TIME, which `ssl` does not name: the times are compared here, with a clock that is passed in.
_NO_TIMES = 0x200000
# Bytes of a key file that are checked for encryption.
_MAX_KEY_SIZE = 1 << 16


class TlsError(ValueError):
    """A certificate or key that cannot be used; the message names the setting and the file."""


@dataclass(frozen=True, slots=True)
class TlsFiles:
    """Files of a listener that speaks TLS, all PEM."""

    cert: Path
    """Certificate, followed by its intermediate certificates."""
    key: Path
    """Its private key, without a password."""
    client_ca: Path | None = None
    """Certificate authorities of clients; if set, only clients with a certificate are served."""

    def options(self) -> dict[str, Any]:
        """Return the options for granian."""
        from granian.constants import SSLProtocols

        return {
            "ssl_cert": self.cert,
            "ssl_key": self.key,
            "ssl_ca": self.client_ca,
            "ssl_client_verify": self.client_ca is not None,
            "ssl_protocol_min": SSLProtocols.tls12,
        }

    def context(self) -> ssl.SSLContext:
        """Return the context for the native transport. Raises the errors of `ssl` for files that `check` rejects."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        # A renegotiation is a handshake that no limit on handshakes counts.
        context.options |= ssl.OP_NO_RENEGOTIATION
        context.load_cert_chain(self.cert, self.key)
        if self.client_ca is not None:
            context.verify_mode = ssl.CERT_REQUIRED
            context.load_verify_locations(self.client_ca)
        return context

    def check(self, now: float) -> str | None:
        """Return a warning about the validity period of the certificate, if any. `now` is in Unix seconds.

        Raises `TlsError` for files that no listener can use.
        """
        for setting, path in (("tls_cert", self.cert), ("tls_key", self.key), ("tls_client_ca", self.client_ca)):
            if path is not None:
                _readable(setting, path)
        if self.client_ca is not None:
            _load("tls_client_ca", self.client_ca, ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER))
        begin, end = self._times()
        shown = ssl.cert_time_to_seconds
        if now < shown(begin):
            return f"tls_cert: {self.cert} is not valid before {begin}: clients will reject it"
        if now >= shown(end):
            return f"tls_cert: {self.cert} expired on {end}: clients will reject it"
        left = int((shown(end) - now) // _DAY)
        return f"tls_cert: {self.cert} expires in {left} days, on {end}" if left < EXPIRY_WARNING_DAYS else None

    def _times(self) -> tuple[str, str]:
        """Return the begin and end of the certificate's validity, as a client sees it."""
        trusting = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        trusting.check_hostname = False
        trusting.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN | ssl.VerifyFlags(_NO_TIMES)
        _load("tls_cert", self.cert, trusting)
        serving = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        if b"ENCRYPTED" in self.key.read_bytes()[:_MAX_KEY_SIZE]:
            raise TlsError(f"tls_key: {self.key} has a password: use a key without a password")
        try:
            serving.load_cert_chain(self.cert, self.key, "")
        except ssl.SSLError as error:
            if "MISMATCH" in (error.reason or ""):
                raise TlsError(f"tls_key: {self.key} is not the key of the certificate in {self.cert}") from None
            raise TlsError(f"tls_key: {self.key} has no usable private key: {_reason(error)}") from None
        certificate = _shaken(serving, trusting)
        return str(certificate["notBefore"]), str(certificate["notAfter"])


def _readable(setting: str, path: Path) -> None:
    try:
        with path.open("rb") as file:
            file.read(1)
    except OSError as error:
        raise TlsError(f"{setting}: cannot read {path}: {error.strerror or error}") from None


def _load(setting: str, path: Path, into: ssl.SSLContext) -> None:
    try:
        into.load_verify_locations(path)
    except ssl.SSLError:
        raise TlsError(f"{setting}: {path} has no PEM certificate") from None


def _shaken(serving: ssl.SSLContext, trusting: ssl.SSLContext) -> dict[str, Any]:
    """Return the server's certificate after a handshake of both sides in memory."""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = trusting.wrap_bio(incoming, outgoing)
    server = serving.wrap_bio(outgoing, incoming, server_side=True)
    waiting = {client, server}
    try:
        # In each round a side sends what the other waits for; a handshake takes at most three rounds.
        for _ in range(8):
            for side in tuple(waiting):
                try:
                    side.do_handshake()
                    waiting.discard(side)
                except ssl.SSLWantReadError:
                    pass
        certificate = client.getpeercert()
    except ssl.SSLError as error:
        raise TlsError(f"tls_cert: cannot use this certificate for TLS: {_reason(error)}") from None
    if not certificate:
        raise TlsError("tls_cert: cannot use this certificate for TLS")
    return dict(certificate)


def _reason(error: ssl.SSLError) -> str:
    return (error.reason or str(error)).replace("_", " ").lower()
