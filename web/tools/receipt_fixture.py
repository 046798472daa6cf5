"""Write web/tests/fixtures/receipts.json: pre-confirmation receipts that a node signed.

    python web/tools/receipt_fixture.py

Needs the installed package and eth-account.
"""

import json
from pathlib import Path
from typing import Any

from foreseal.testing import Chain, ChainSettings

_TARGET = Path(__file__).parent.parent / "tests" / "fixtures" / "receipts.json"
_STEPS = 4


def pay(chain: Chain, value: int, sender: int) -> str:
    """Send to the second account and return the hash."""
    account = chain.accounts[sender]
    transfer = {
        "to": chain.accounts[1].address,
        "value": value,
        "nonce": int(chain.rpc("eth_getTransactionCount", account, "pending"), 16),
        "gas": 21_000,
        "maxFeePerGas": 10**10,
        "maxPriorityFeePerGas": 1,
        "chainId": chain.settings.chain_id,
    }
    return str(chain.rpc("eth_sendRawTransaction", account.signer().sign_transaction(transfer).raw_transaction))


def receipts(chain: Chain) -> list[dict[str, Any]]:
    """Return receipts of several steps, the later ones with several transactions."""
    sent = []
    for step in range(_STEPS):
        sent += [pay(chain, value, sender) for value in range(step + 1) for sender in (0, 2)]
        chain.step()
    return [chain.rpc("foreseal_preconfirmation", hash_) for hash_ in sent]


def main() -> None:
    """Write the file."""
    with Chain(ChainSettings(accounts=3, automine=False)) as chain:
        document = {
            "chainId": hex(chain.settings.chain_id),
            "signer": chain.rpc("foreseal_status")["signer"],
            "receipts": receipts(chain),
        }
    _TARGET.write_text(json.dumps(document, indent=1) + "\n")


main()
