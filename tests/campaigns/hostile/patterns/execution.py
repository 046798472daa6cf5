"""Calls with expensive execution."""

from typing import Any

from hostile import bytecode
from hostile.client import Client
from hostile.patterns.registry import pattern
from hostile.wire import call

TARGET = "0x" + "ab" * 20
GAS = hex(50_000_000)


def overridden(code: bytes, method: str = "eth_call", *, block: str = "latest", **fields: Any) -> bytes:
    """Return a call of code that a state override puts at an address."""
    return call(method, {"to": TARGET, "gas": GAS, **fields}, block, {TARGET: {"code": "0x" + code.hex()}})


async def _repeated(client: Client, code: bytes, method: str = "eth_call") -> None:
    body = overridden(code, method)
    await client.calls(lambda: body)


@pattern("call-keccak", "eth_call of a state override that hashes 64 KiB in a loop, 16 connections an address (S1)")
async def call_keccak(client: Client) -> None:
    """Repeat finding S1."""
    await _repeated(client, bytecode.KECCAK_LOOP)


@pattern("call-jumps", "eth_call of the tightest loop")
async def call_jumps(client: Client) -> None:
    """Load only the interpreter."""
    await _repeated(client, bytecode.JUMP_LOOP)


@pattern("call-modexp", "eth_call of a loop over modular exponentiations of 256 bytes")
async def call_modexp(client: Client) -> None:
    """Call a slow precompiled contract that cannot be interrupted."""
    await _repeated(client, bytecode.modexp_loop())


@pattern("call-pairing", "eth_call of a loop over pairings")
async def call_pairing(client: Client) -> None:
    """Call the most expensive precompiled contract."""
    await _repeated(client, bytecode.pairing_loop())


@pattern("call-memory", "eth_call that expands memory in nested calls")
async def call_memory(client: Client) -> None:
    """Force memory allocation."""
    await _repeated(client, bytecode.memory_loop())


@pattern("call-copy", "eth_call that copies 64 KiB in a loop")
async def call_copy(client: Client) -> None:
    """Use memory bandwidth."""
    await _repeated(client, bytecode.copy_loop())


@pattern("call-deep", "eth_call that calls itself twice to every depth")
async def call_deep(client: Client) -> None:
    """Create deep stacks of call frames."""
    await _repeated(client, bytecode.deep_calls())


@pattern("call-creates", "eth_call that creates contracts of 24 KB in a loop")
async def call_creates(client: Client) -> None:
    """Create state that is discarded."""
    await _repeated(client, bytecode.create_loop())


@pattern("call-cold-slots", "eth_call that reads one cold slot after the other")
async def call_cold_slots(client: Client) -> None:
    """Force reads of cold storage slots from the store."""
    await _repeated(client, bytecode.sload_loop())


@pattern("call-cold-accounts", "eth_call that reads one cold account after the other")
async def call_cold_accounts(client: Client) -> None:
    """Force reads of cold accounts from the store."""
    await _repeated(client, bytecode.balance_loop())


@pattern("call-code-copy", "eth_call that copies the code of a contract in a loop")
async def call_code_copy(client: Client) -> None:
    """Force copies of contract code."""
    await _repeated(client, bytecode.self_code_loop())


@pattern("call-slot-overrides", "eth_call with 10,000 overridden slots")
async def call_slot_overrides(client: Client) -> None:
    """Force the preparation of a state with many slot overrides."""
    slots = {f"0x{slot:064x}": f"0x{slot + 1:064x}" for slot in range(10_000)}
    override = {"code": "0x" + bytecode.sload_loop().hex(), "stateDiff": slots}
    body = call("eth_call", {"to": TARGET, "gas": GAS}, "latest", {TARGET: override})
    await client.calls(lambda: body)


@pattern("call-account-overrides", "eth_call with 10,000 overridden accounts")
async def call_account_overrides(client: Client) -> None:
    """Force the preparation of a state with many account overrides."""
    accounts: dict[str, Any] = {f"0x{number:040x}": {"balance": "0x1", "nonce": "0x1"} for number in range(256, 10_256)}
    body = call("eth_call", {"to": TARGET, "gas": GAS}, "latest", accounts)
    await client.calls(lambda: body)


@pattern("call-code-overrides", "eth_call with 1.9 MB of overridden code, another one each time")
async def call_code_overrides(client: Client) -> None:
    """Force the analysis of code that is never cached."""
    codes = [bytes([91 + turn % 2]) * 24_000 + bytes([turn % 256]) for turn in range(64)]

    def body() -> bytes:
        accounts = {f"0x{number + 256:040x}": {"code": "0x" + client.draw.choice(codes).hex()} for number in range(38)}
        return call("eth_call", {"to": f"0x{256:040x}", "gas": GAS}, "latest", accounts)

    await client.calls(body)


@pattern("call-calldata", "eth_call with 900 KB of calldata")
async def call_calldata(client: Client) -> None:
    """Force the decoding of large calldata."""
    body = call("eth_call", {"to": "0x" + "00" * 19 + "02", "gas": GAS, "data": "0x" + "ff" * 900_000}, "latest")
    await client.calls(lambda: body)


@pattern("estimate-loop", "eth_estimateGas of a loop, which a binary search repeats")
async def estimate_loop(client: Client) -> None:
    """Cause several executions per call."""
    # It succeeds only with more than 48 million gas: every smaller attempt runs to its end.
    guarded = bytes.fromhex("5a6302dc6c0011600b5700") + bytecode.KECCAK_LOOP.replace(b"\x60\x00\x56", b"\x60\x0b\x56")
    await _repeated(client, guarded, "eth_estimateGas")


@pattern("estimate-keccak", "eth_estimateGas of a loop that hashes 64 KiB")
async def estimate_keccak(client: Client) -> None:
    """Estimate an execution that never succeeds."""
    await _repeated(client, bytecode.KECCAK_LOOP, "eth_estimateGas")


@pattern("access-list", "eth_createAccessList over cold slots")
async def access_list(client: Client) -> None:
    """Force executions and recordings of accesses."""
    await _repeated(client, bytecode.sload_loop(), "eth_createAccessList")


@pattern("simulate-blocks", "eth_simulateV1 of 256 empty blocks")
async def simulate_blocks(client: Client) -> None:
    """Force computations of state roots."""
    body = call("eth_simulateV1", {"blockStateCalls": [{"calls": []} for _ in range(256)]}, "latest")
    await client.calls(lambda: body)


@pattern("simulate-calls", "eth_simulateV1 of hash loops in many blocks")
async def simulate_calls(client: Client) -> None:
    """Force executions and computations of state roots."""
    override = {TARGET: {"code": "0x" + bytecode.KECCAK_LOOP.hex()}}
    calls = [{"to": TARGET, "gas": hex(1_000_000)} for _ in range(10)]
    blocks = [{"stateOverrides": override, "calls": calls}, *({"calls": calls} for _ in range(99))]
    body = call("eth_simulateV1", {"blockStateCalls": blocks, "traceTransfers": True}, "latest")
    await client.calls(lambda: body)


@pattern("simulate-gap", "eth_simulateV1 with a block number far ahead, which fills the gap with blocks")
async def simulate_gap(client: Client) -> None:
    """Force the simulation of unnamed blocks in between."""
    body = call("eth_simulateV1", {"blockStateCalls": [{"blockOverrides": {"number": "0xff"}, "calls": []}]}, "latest")
    await client.calls(lambda: body)
