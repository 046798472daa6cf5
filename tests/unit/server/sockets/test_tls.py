"""Certificate and key, checked before a listener starts."""

import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization

from certificates import Certificates, certificates
from foreseal.server import Settings, SettingsError
from foreseal.server.settings import ListenSettings
from foreseal.server.sockets.tls import TlsError, TlsFiles

END = datetime(2030, 6, 1, 12, 0, 0, tzinfo=UTC)


@pytest.fixture
def made(tmp_path: Path) -> Certificates:
    return certificates(tmp_path)


def refusal(tls: TlsFiles) -> str:
    with pytest.raises(TlsError) as told:
        tls.check(END.timestamp() - 1e7)
    return str(told.value)


def test_valid_pair_is_accepted_with_and_without_client_authority(made: Certificates) -> None:
    tls = made.issue(until=END)
    before = END.timestamp() - 1e7
    assert tls.check(before) is None
    assert TlsFiles(tls.cert, tls.key, made.ca).check(before) is None


def test_expiring_certificate_logs_a_warning(made: Certificates) -> None:
    tls = made.issue(until=END)
    at = {days: tls.check((END - timedelta(days=days)).timestamp()) for days in (-1, 0, 13, 15)}
    assert at[-1] == at[0] == f"tls_cert: {tls.cert} expired on Jun  1 12:00:00 2030 GMT: clients will reject it"
    assert at[13] == f"tls_cert: {tls.cert} expires in 13 days, on Jun  1 12:00:00 2030 GMT"
    assert at[15] is None
    early = tls.check(0)
    assert early is not None
    assert "is not valid before" in early


def test_listener_uses_tls_1_2_or_newer_without_renegotiation(made: Certificates) -> None:
    context = made.issue().context()
    assert context.minimum_version is ssl.TLSVersion.TLSv1_2
    assert context.options & ssl.OP_NO_RENEGOTIATION


def test_invalid_tls_files_are_named(made: Certificates, tmp_path: Path) -> None:
    tls, other, none, folder = made.issue(until=END), made.issue("other"), tmp_path / "none", tmp_path
    garbage = tmp_path / "garbage"
    garbage.write_bytes(b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")
    assert refusal(TlsFiles(none, tls.key)) == f"tls_cert: cannot read {none}: No such file or directory"
    assert refusal(TlsFiles(tls.cert, none)) == f"tls_key: cannot read {none}: No such file or directory"
    assert refusal(TlsFiles(folder, tls.key)) == f"tls_cert: cannot read {folder}: Is a directory"
    assert refusal(TlsFiles(tls.cert, tls.key, none)) == f"tls_client_ca: cannot read {none}: No such file or directory"
    assert (
        refusal(TlsFiles(tls.cert, other.key))
        == f"tls_key: {other.key} is not the key of the certificate in {tls.cert}"
    )
    assert refusal(TlsFiles(tls.key, tls.key)) == f"tls_cert: {tls.key} has no PEM certificate"
    assert refusal(TlsFiles(garbage, tls.key)) == f"tls_cert: {garbage} has no PEM certificate"
    assert refusal(TlsFiles(tls.cert, tls.cert)).startswith(f"tls_key: {tls.cert} has no usable private key: ")
    assert refusal(TlsFiles(tls.cert, tls.key, tls.key)) == f"tls_client_ca: {tls.key} has no PEM certificate"


def test_a_key_with_a_password_is_rejected_without_a_prompt(made: Certificates) -> None:
    tls = made.issue(until=END)
    key = serialization.load_pem_private_key(tls.key.read_bytes(), None)
    for form in (serialization.PrivateFormat.PKCS8, serialization.PrivateFormat.TraditionalOpenSSL):
        locked = serialization.BestAvailableEncryption(b"secret")
        tls.key.write_bytes(key.private_bytes(serialization.Encoding.PEM, form, locked))
        assert refusal(tls) == f"tls_key: {tls.key} has a password: use a key without a password"


@pytest.mark.parametrize("given", [{"tls_cert"}, {"tls_key"}, {"tls_client_ca"}, {"tls_key", "tls_client_ca"}])
def test_a_certificate_needs_its_key(given: set[str]) -> None:
    with pytest.raises(SettingsError, match="TLS needs both tls_cert and tls_key"):
        Settings(Path("x"), listen=ListenSettings(**dict.fromkeys(given, Path("f"))))  # type: ignore[arg-type]
