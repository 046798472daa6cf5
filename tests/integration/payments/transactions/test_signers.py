"""Signers: a remote key signs the same bytes as a local one, and its failures are clear errors."""

import ssl
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from certificates import certificates
from foreseal.payments.configuration import ConfigurationError, SecretError, read
from foreseal.payments.transactions import (
    FeeQuote,
    HttpSigner,
    LocalSigner,
    SignerConnection,
    SignerUnavailable,
    TransactionIntents,
    UnsignedTransaction,
    http_signer,
)
from payments.api.service_harness import ServiceHarness
from payments.fake_signer import FakeSigner
from payments.shop import SHOP, Make

TARGET = "0x036CbD53842c5426634e7929541eC2318f3dCF7e"


@pytest.fixture
def signer() -> Iterator[FakeSigner]:
    with FakeSigner(SHOP) as server:
        yield server


def connect(signer: FakeSigner, timeout: float = 30.0) -> HttpSigner:
    return HttpSigner(SignerConnection(signer.url, signer.public_key, timeout))


def transactions(count: int) -> list[UnsignedTransaction]:
    fees = [FeeQuote(3 * 10**9, 10**9), FeeQuote(2**70, 0)]
    return [
        UnsignedTransaction(number, TARGET, bytes([number]) * number, 21_000 + number, fees[number // 20 % 2])
        for number in range(count)
    ]


@pytest.mark.parametrize("parity_only", [False, True])
def test_remote_signatures_equal_local_ones(signer: FakeSigner, parity_only: bool) -> None:
    signer.parity_only = parity_only
    remote, local = connect(signer), LocalSigner(SHOP)
    assert remote.address == local.address == SHOP.address
    # The shortest of many have signatures with leading zeros, which RLP does not encode.
    shortest = sorted(transactions(200), key=lambda each: len(local.sign(31337, [each])[0].raw))
    for chosen in (shortest[:1], shortest[:6]):
        assert remote.sign(31337, chosen) == local.sign(31337, chosen)
    assert signer.requests == 7
    remote.close()


def test_local_signer_accepts_gaps_between_nonces() -> None:
    local, (first, second, third) = LocalSigner(SHOP), transactions(3)
    assert local.sign(1, [third, first, second]) == [local.sign(1, [each])[0] for each in (third, first, second)]


@pytest.mark.parametrize(
    ("status", "answer", "message"),
    [
        (500, None, "status 500"),
        (404, None, "no key with the public key"),
        (200, "0x1234", "no signature of 65 bytes: '0x1234'"),
        (200, "0x" + "11" * 64 + "05", "v = 5"),
        (200, "0x" + "11" * 64 + "1b", "another key"),
    ],
)
def test_invalid_answer_of_the_signer_is_an_error(
    signer: FakeSigner, status: int, answer: str | None, message: str
) -> None:
    signer.status, signer.answer = status, answer
    remote = connect(signer)
    for count in (1, 3):
        with pytest.raises(SignerUnavailable, match=message):
            remote.sign(1, transactions(count))
    remote.close()


def test_hung_and_unreachable_signers_are_errors(signer: FakeSigner) -> None:
    remote = connect(signer, timeout=0.2)
    signer.released.clear()
    with pytest.raises(SignerUnavailable, match="does not respond in time"):
        remote.sign(1, transactions(1))
    signer.released.set()
    remote.close()
    nowhere = HttpSigner(SignerConnection("http://127.0.0.1:1", signer.public_key))
    with pytest.raises(SignerUnavailable, match="unreachable: ConnectError"):
        nowhere.sign(1, transactions(1))
    nowhere.close()


def test_many_signatures_have_a_total_time_limit(signer: FakeSigner, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_signer, "_TIME_LIMIT", 0.0)
    remote = connect(signer, timeout=30.0)
    signer.released.clear()
    with pytest.raises(SignerUnavailable, match="did not sign 3 transactions within 0 s"):
        remote.sign(1, transactions(3))
    signer.released.set()
    remote.close()


def test_signer_requires_certificates_of_both_sides(tmp_path: Path) -> None:
    issued = certificates(tmp_path)
    server, client = issued.issue("server"), issued.issue("client")
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=issued.ca)
    tls.load_cert_chain(server.cert, server.key)
    tls.verify_mode = ssl.CERT_REQUIRED
    with FakeSigner(SHOP, tls) as signer:
        connection = SignerConnection(signer.url, signer.public_key, 30.0, issued.ca, client.cert, client.key)
        remote = HttpSigner(connection)
        assert remote.sign(1, transactions(1)) == LocalSigner(SHOP).sign(1, transactions(1))
        remote.close()
        for incomplete in (
            replace(connection, client_certificate=None, client_key=None),
            replace(connection, ca_file=None),
        ):
            remote = HttpSigner(incomplete)
            with pytest.raises(SignerUnavailable, match="unreachable"):
                remote.sign(1, transactions(1))
            remote.close()


@pytest.mark.fake_chain
def test_capture_with_a_remote_key_is_final(make: Make, signer: FakeSigner) -> None:
    shop = make()
    remote = connect(signer)
    intents = TransactionIntents(shop.chain.chain_id, remote)
    shop.sender.intents = intents
    assert shop.status(shop.captured("a")) == "Used, captured / final"
    assert signer.requests == 1
    remote.close()


def test_failing_signer_is_503_and_stores_no_capture(service: ServiceHarness, signer: FakeSigner) -> None:
    text = service.file.read_text().replace(
        'key_env = "SHOP_KEY"', f'signer_url = "{signer.url}"\nsigner_public_key = "0x04{signer.public_key.hex()}"'
    )
    service.file.write_text(text)
    remote = service.another("remote")
    service.stored("a")
    signer.status = 500
    error = service.refused(503, "signer_unavailable", "/v1/orders/a/capture", key="k", process=remote)
    assert "status 500" in error["message"]
    assert service.state("a") == "Stored, unused / idle"
    signer.status = 200
    made = service.made("/v1/orders/a/capture", key="k", process=remote)
    assert made["order"]["tx_status"] == "intended"
    service.settle()
    assert service.state("a") == "Used, captured / final"


def test_payee_has_exactly_one_key(service: ServiceHarness, signer: FakeSigner) -> None:
    public_key = f'signer_public_key = "0x{signer.public_key.hex()}"'
    for lines, message in (
        ('signer_url = "http://signer"', "signer_url requires signer_public_key"),
        (public_key, "signer_public_key requires signer_url"),
        (f'signer_url = "http://signer"\n{public_key}\nkey_env = "K"', "set one of key_file, key_env and signer_url"),
        (f'signer_url = "http://s"\n{public_key}\nsigner_client_cert = "c"', "set both signer_client_cert and"),
        ('signer_url = "http://s"\nsigner_public_key = "0x12"', "is not a public key of 64 bytes"),
    ):
        service.file.write_text(_payee(service.file, lines))
        with pytest.raises(ConfigurationError, match=message):
            read(service.file)
    service.file.write_text(_payee(service.file, f'signer_url = "{signer.url}"\n{public_key}\nsigner_ca_file = "none"'))
    payee = read(service.file).payee
    assert payee is not None
    with pytest.raises(SecretError, match="cannot read the certificates of the signer"):
        payee.signer({})


def _payee(path: Path, lines: str) -> str:
    before, _, rest = path.read_text().partition("[payee]")
    return f"{before}[payee]\n{lines}\n[database]{rest.partition('[database]')[2]}"
