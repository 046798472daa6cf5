"""Generator of transfers in a process of its own: `python -m benches.sustained.sender PORT RATE SECONDS`.

It prints `ready` before the first transaction, and its figures as JSON at the end.
"""

import argparse
import asyncio
import json

import uvloop
from benches.cluster.transfer_stream import TransferStream
from benches.load.lanes import Lane, fail_with, quantiles

from foreseal.bench.chain_content import BenchAccount, accounts
from transfer_accounts import TransferAccount

SENDERS, SIGNED_AHEAD = 400, 32


async def _send(port: int, rate: float, seconds: float) -> dict[str, object]:
    fail_with(asyncio.current_task())
    lane = await Lane(port).open()
    senders = accounts(SENDERS)
    for sender in senders:
        await _read_nonce(lane, sender)
    lane.close()
    transfers = [TransferAccount(sender) for sender in senders]
    for number, transfer in enumerate(transfers):
        # The lengths differ, so that the accounts do not sign their next batches at the same time.
        transfer.sign(1 + number % SIGNED_AHEAD)
    stream = TransferStream(port, transfers, record=False)
    print("ready", flush=True)
    done = await stream.run(rate, seconds)
    return {
        "accepted": done.accepted,
        "rejected": done.rejected,
        "first_error": done.first_error,
        "late": quantiles(done.late),
        "answered": quantiles(done.answered),
    }


async def _read_nonce(lane: Lane, sender: BenchAccount) -> None:
    address = "0x" + sender.address.hex()
    sender.nonce = int(await lane.request("eth_getTransactionCount", address, "pending"), 16)


def main() -> None:
    """Send, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("port", type=int)
    parser.add_argument("rate", type=float)
    parser.add_argument("seconds", type=float)
    given = parser.parse_args()
    print(json.dumps(uvloop.run(_send(given.port, given.rate, given.seconds))), flush=True)


if __name__ == "__main__":
    main()
