"""Certificates for tests, in files."""

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import trustme

from foreseal.server.sockets.tls import TlsFiles


@dataclass(frozen=True)
class Certificates:
    """An authority and its issued certificates: PEM files in one folder."""

    folder: Path
    authority: trustme.CA

    @property
    def ca(self) -> Path:
        """The authority's own certificate."""
        return self.folder / "ca.pem"

    def issue(self, name: str = "server", until: datetime | None = None) -> TlsFiles:
        """Issue a certificate for this machine, with its key."""
        made = self.authority.issue_cert("localhost", "127.0.0.1", "::1", not_after=until)
        files = TlsFiles(self.folder / f"{name}.pem", self.folder / f"{name}.key")
        files.cert.write_bytes(b"".join(blob.bytes() for blob in made.cert_chain_pems))
        files.key.write_bytes(made.private_key_pem.bytes())
        return files


def certificates(folder: Path) -> Certificates:
    """Return a new authority whose files are in `folder`."""
    made = Certificates(folder, trustme.CA())
    made.authority.cert_pem.write_to_path(str(made.ca))
    return made


EXPIRED = datetime(2020, 1, 1, tzinfo=UTC)
