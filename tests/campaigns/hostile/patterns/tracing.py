"""Traces of the most expensive executions."""

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
    """Force an execution, its recording and its serialization."""
    await _repeated(client, "debug_traceTransaction", client.facts.traced_transaction, _FULL)


@pattern("trace-block", "debug_traceBlockByNumber with memory of the heaviest block")
async def trace_block(client: Client) -> None:
    """Force the trace of a whole block."""
    await _repeated(client, "debug_traceBlockByNumber", client.facts.traced_block, _FULL)


@pattern("trace-call", "debug_traceCall with memory of the tightest loop")
async def trace_call(client: Client) -> None:
    """Force a recording of the maximum size."""
    code = {TARGET: {"code": "0x" + bytecode.TRACED.hex()}}
    config = {**_FULL, "stateOverrides": code}
    await _repeated(client, "debug_traceCall", {"to": TARGET, "gas": GAS}, "latest", config)


@pattern("trace-calls-deep", "debug_traceCall by callTracer of code that calls itself twice to every depth")
async def trace_calls_deep(client: Client) -> None:
    """Force a deep tree of call frames."""
    config = {"tracer": "callTracer", "tracerConfig": {"withLog": True}}
    config["stateOverrides"] = {TARGET: {"code": "0x" + bytecode.deep_calls().hex()}}
    await _repeated(client, "debug_traceCall", {"to": TARGET, "gas": GAS}, "latest", config)


@pattern("trace-prestate", "debug_traceCall by prestateTracer of code that reads cold accounts")
async def trace_prestate(client: Client) -> None:
    """Force reads and their recording."""
    config: dict[str, Any] = {"tracer": "prestateTracer"}
    config["stateOverrides"] = {TARGET: {"code": "0x" + bytecode.balance_loop().hex()}}
    await _repeated(client, "debug_traceCall", {"to": TARGET, "gas": GAS}, "latest", config)
