"""Traces of what is heaviest."""

from typing import Any

from hostile import bytecode
from hostile.client import Client
from hostile.patterns.execution import GAS, TARGET
from hostile.patterns.registry import pattern
from hostile.wire import call

_FULL = {"enableMemory": True, "enableReturnData": True}


async def _repeated(client: Client, method: str, *params: Any) -> None:
    body = call(method, *params)
    await client.calls(lambda: body)


@pattern("trace-transaction", "debug_traceTransaction with memory of a transaction with a million steps")
async def trace_transaction(client: Client) -> None:
    """Cost an execution, its recording and its rendering."""
    await _repeated(client, "debug_traceTransaction", client.facts.traced_transaction, _FULL)


@pattern("trace-block", "debug_traceBlockByNumber with memory of the heaviest block")
async def trace_block(client: Client) -> None:
    """Cost a whole block."""
    await _repeated(client, "debug_traceBlockByNumber", client.facts.traced_block, _FULL)


@pattern("trace-call", "debug_traceCall with memory of the tightest loop")
async def trace_call(client: Client) -> None:
    """Cost a recording as large as allowed."""
    code = {TARGET: {"code": "0x" + bytecode.TRACED.hex()}}
    config = {**_FULL, "stateOverrides": code}
    await _repeated(client, "debug_traceCall", {"to": TARGET, "gas": GAS}, "latest", config)


@pattern("trace-calls-deep", "debug_traceCall by callTracer of code that calls itself twice to every depth")
async def trace_calls_deep(client: Client) -> None:
    """Cost a tree of frames."""
    config = {"tracer": "callTracer", "tracerConfig": {"withLog": True}}
    config["stateOverrides"] = {TARGET: {"code": "0x" + bytecode.deep_calls().hex()}}
    await _repeated(client, "debug_traceCall", {"to": TARGET, "gas": GAS}, "latest", config)


@pattern("trace-prestate", "debug_traceCall by prestateTracer of code that reads cold accounts")
async def trace_prestate(client: Client) -> None:
    """Cost reads and their recording."""
    config: dict[str, Any] = {"tracer": "prestateTracer"}
    config["stateOverrides"] = {TARGET: {"code": "0x" + bytecode.balance_loop().hex()}}
    await _repeated(client, "debug_traceCall", {"to": TARGET, "gas": GAS}, "latest", config)
