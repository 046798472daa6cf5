"""All transfers of the token to and from the merchant from logs, read without the code under test."""

from dataclasses import dataclass

from foreseal.payments.contracts.development import TOKEN
from live.rpc import Rpc

# keccak256 of Transfer(address,address,uint256), the event of every ERC-20.
TRANSFER = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef"
# Blocks per request.
_PIECE = 500


@dataclass(frozen=True, slots=True)
class Moved:
    """Amounts of transfers by transaction hash and position in the block."""

    received: dict[tuple[str, int], int]
    sent: dict[tuple[str, int], int]


def scan(rpc: Rpc, merchant: str) -> Moved:
    """Scan from the first block to the newest one."""
    newest = int(rpc("eth_blockNumber"), 16)
    account = "0x" + merchant[2:].lower().rjust(64, "0")
    sides: list[dict[tuple[str, int], int]] = []
    for topics in ([TRANSFER, None, account], [TRANSFER, account]):
        amounts: dict[tuple[str, int], int] = {}
        for first in range(0, newest + 1, _PIECE):
            asked = {"fromBlock": hex(first), "toBlock": hex(min(first + _PIECE - 1, newest))}
            for log in rpc("eth_getLogs", asked | {"address": TOKEN, "topics": topics}):
                amounts[log["transactionHash"], int(log["logIndex"], 16)] = int(log["data"], 16)
        sides.append(amounts)
    return Moved(*sides)
