"""Logs: the largest receipts."""

from hostile.bytecode import TRANSFER_TOPIC
from hostile.chain_data.assembler import gas_loop, push
from hostile.chain_data.registry import add

_GAS = b"\x5a"
"""GAS: a number that no other log of the transaction has."""
_CHUNK = 1 << 16
_LONG_DATA = 1_500_000
"""Bytes of one log whose memory and data use 2^24 gas."""

FINDING_N1 = bytes.fromhex("5b5f5fa061ffff5a115f5700")
"""The contract of finding N1: empty LOG0 until 65,535 gas are left."""

add("logs", "logs-empty", "44,000 empty LOG0: the longest receipt as JSON",
    gas_loop(b"\x5f\x5f\xa0", unroll=64), logs=43_000)  # fmt: skip
add("logs", "logs-n1", "41,700 empty LOG0, one a check: the contract of finding N1", FINDING_N1, logs=41_000)
add("logs", "logs-topics", "8,800 LOG4 with the same topics",
    gas_loop(b"\x5f" * 6 + b"\xa4", unroll=32), logs=8_500)  # fmt: skip
add("logs", "logs-new-topics", "LOG4 whose topics no other log has: the largest index of logs",
    gas_loop(_GAS * 4 + b"\x5f\x5f\xa4", unroll=32), logs=8_500)  # fmt: skip
add("logs", "logs-long", "one log with 1.5 MB of data",
    push(_LONG_DATA) + b"\x5f\xa0\x00", logs=1)  # fmt: skip
add("logs", "logs-chunks", "31 logs with 64 KiB of data each: the most bytes of data",
    gas_loop(push(_CHUNK) + b"\x5f\xa0", reserve=530_000), logs=30)  # fmt: skip
add("logs", "logs-words", "LOG1 of one word each", gas_loop(_GAS + push(32) + b"\x5f\xa1", unroll=32),
    logs=16_000)  # fmt: skip
add("logs", "logs-transfers", "10,800 transfers of a token to itself, which pages of the account search",
    gas_loop(b"\x30\x30\x7f" + TRANSFER_TOPIC + b"\x5f\x5f\xa3", unroll=32), logs=10_500)  # fmt: skip
