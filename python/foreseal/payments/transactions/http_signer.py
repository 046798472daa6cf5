"""Signer over HTTP with the API of web3signer, which uses keys in a KMS, an HSM or a vault.

```text
POST {url}/api/v1/eth1/sign/{public key}   {"data": "0x02..."}   ->   0x{r}{s}{v}
```

The service hashes the data with Keccak-256 and signs the hash. Each signature is verified before it is used.
"""

import re
import ssl
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import httpx

from foreseal.codec import checksum_address, keccak, recover_addresses, rlp_encode
from foreseal.payments.transactions.errors import SignerUnavailable
from foreseal.payments.transactions.signer import RawTransaction, UnsignedTransaction

# Concurrent requests for the signatures of a batch.
_CONCURRENCY = 8
# Seconds for all signatures of a batch: its database transaction is open meanwhile.
_TIME_LIMIT = 10.0
_SIGNATURE = re.compile(r"0x[0-9a-fA-F]{130}")
_TYPE = b"\x02"


@dataclass(frozen=True, slots=True)
class SignerConnection:
    """Connection to a service that signs."""

    url: str
    public_key: bytes
    """Uncompressed public key without prefix, 64 bytes. The service identifies the key by it."""
    timeout: float = 2.0
    """Seconds."""
    ca_file: Path | None = None
    """Certificates of the authorities that may sign the service's certificate; by default those of the system."""
    client_certificate: Path | None = None
    """Certificate of this client for mutual TLS, in PEM."""
    client_key: Path | None = None
    """Private key of that certificate, in PEM."""


class HttpSigner:
    """Signer whose key never leaves a service. For any thread."""

    def __init__(self, connection: SignerConnection) -> None:
        """Set up the client. Raises `OSError` and `ssl.SSLError` if a certificate cannot be read."""
        self._url = f"{connection.url.rstrip('/')}/api/v1/eth1/sign/0x{connection.public_key.hex()}"
        self._address = checksum_address(keccak(connection.public_key)[12:])
        self._client = httpx.Client(verify=_tls(connection), timeout=connection.timeout, follow_redirects=False)
        self._pool = ThreadPoolExecutor(_CONCURRENCY, "signer")

    @property
    def address(self) -> str:
        """Address of the public key."""
        return self._address

    def sign(self, chain_id: int, transactions: Sequence[UnsignedTransaction]) -> list[RawTransaction]:
        """Sign transactions with concurrent requests. Raises `SignerUnavailable`, also after a total time limit."""
        if len(transactions) == 1:
            return [self._sign(chain_id, transactions[0])]
        end = time.monotonic() + _TIME_LIMIT
        tasks = [self._pool.submit(self._sign, chain_id, transaction) for transaction in transactions]
        try:
            return [task.result(max(0.0, end - time.monotonic())) for task in tasks]
        except TimeoutError as error:
            message = f"the signer did not sign {len(tasks)} transactions within {_TIME_LIMIT:g} s"
            raise SignerUnavailable(message) from error
        finally:
            for task in tasks:  # after an error, the remaining requests would be in vain
                task.cancel()

    def close(self) -> None:
        """Close the connections."""
        self._pool.shutdown()
        self._client.close()

    def _sign(self, chain_id: int, transaction: UnsignedTransaction) -> RawTransaction:
        fields = _fields(chain_id, transaction)
        payload = _TYPE + rlp_encode(tuple(fields))
        signature = self._request(payload)
        r, s = signature[:32], signature[32:64]
        parity = signature[64] - 27 if signature[64] >= 27 else signature[64]
        if parity not in (0, 1):
            raise SignerUnavailable(f"the signer returned a signature with v = {signature[64]}")
        self._verify(keccak(payload), r + s + bytes([27 + parity]))
        raw = _TYPE + rlp_encode((*fields, _number(parity), r.lstrip(b"\0"), s.lstrip(b"\0")))
        return RawTransaction(raw, keccak(raw))

    def _request(self, payload: bytes) -> bytes:
        try:
            response = self._client.post(self._url, json={"data": "0x" + payload.hex()})
        except httpx.TimeoutException as error:
            raise SignerUnavailable("the signer does not respond in time") from error
        except httpx.HTTPError as error:
            raise SignerUnavailable(f"the signer is unreachable: {type(error).__name__}: {error}") from error
        if response.status_code == 404:
            raise SignerUnavailable("the signer has no key with the public key of the configuration")
        if response.status_code != 200:
            raise SignerUnavailable(f"the signer returned status {response.status_code}")
        text = response.text.strip().strip('"')
        if _SIGNATURE.fullmatch(text) is None:
            raise SignerUnavailable(f"the signer returned no signature of 65 bytes: {text[:80]!r}")
        return bytes.fromhex(text[2:])

    def _verify(self, digest: bytes, signature: bytes) -> None:
        (recovered,) = recover_addresses([digest], [signature])
        if recovered != self._address:
            raise SignerUnavailable(f"the signer returned a signature of another key than that of {self._address}")


def _fields(chain_id: int, transaction: UnsignedTransaction) -> list[bytes | tuple[bytes, ...]]:
    quote = transaction.quote
    numbers = (chain_id, transaction.nonce, quote.priority_fee, quote.fee, transaction.gas)
    return [*map(_number, numbers), bytes.fromhex(transaction.target[2:]), b"", transaction.data, ()]


def _number(value: int) -> bytes:
    return value.to_bytes((value.bit_length() + 7) // 8, "big")


def _tls(connection: SignerConnection) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=connection.ca_file)
    if connection.client_certificate is not None:
        context.load_cert_chain(connection.client_certificate, connection.client_key)
    return context
