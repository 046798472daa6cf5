"""A pre-signed blob transaction (EIP-4844), because eth-account takes six seconds for its cell proofs.

`PYTHONPATH=tests/support python -m clients.blob_transaction` regenerates blob_transaction.json manually.
"""

import base64
import json
import zlib
from pathlib import Path
from typing import Any

from live import DEV_ACCOUNTS
from live.sending import CHAIN_ID, MAX_FEE, TIP

FILE = Path(__file__).with_suffix(".json")
SENDER = DEV_ACCOUNTS[5]

# 32-byte field elements, each below the modulus because its first byte is zero.
_BLOB = (b"\0" + bytes(range(31))) * 4096


def raw_blob_transaction() -> bytes:
    """Return the first transaction of `SENDER`: one blob, with its sidecar (EIP-7594)."""
    return zlib.decompress(base64.b64decode(json.loads(FILE.read_text())["zlib"]))


def _sign() -> bytes:
    transaction: dict[str, Any] = {
        "type": 3,
        "chainId": CHAIN_ID,
        "nonce": 0,
        "to": SENDER.address,
        "value": 1,
        "gas": 21000,
        "maxFeePerGas": MAX_FEE,
        "maxPriorityFeePerGas": TIP,
        "maxFeePerBlobGas": MAX_FEE,
    }
    return bytes(SENDER.sign_transaction(transaction, blobs=[_BLOB]).raw_transaction)


if __name__ == "__main__":
    packed = base64.b64encode(zlib.compress(_sign(), 9)).decode()
    FILE.write_text(json.dumps({"made_by": "clients/blob_transaction.py", "zlib": packed}, indent=2) + "\n")
