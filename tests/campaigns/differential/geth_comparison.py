"""Random calls, estimates, access lists, simulations and traces on Foreseal and on geth, at one genesis."""

from collections.abc import Callable
from random import Random
from typing import Any

import orjson

from differential import geth_differences as known
from differential.call_objects import CallObjects
from differential.chain import GAS_LIMIT, filled, genesis_of
from differential.comparison import Comparison
from differential.failures import Failure, Rpc, answer
from differential.geth import geth
from differential.lossless_gas import is_lossless, run
from differential.precompiles import PRECOMPILES
from differential.workload import AUTHORITIES, BEACON_ROOTS, CONSOLIDATIONS, HISTORY, WITHDRAWALS, Feature, World
from json_differences import json_differences
from live.sending import GWEI

SYSTEM = BEACON_ROOTS, CONSOLIDATIONS, HISTORY, WITHDRAWALS
Request = tuple[str, list[Any]]

_CALLS: tuple[dict[str, bool], ...] = {"withLog": True}, {"onlyTopCall": True}, {}
_PRESTATES: tuple[dict[str, bool], ...] = {}, {"diffMode": True}, {"disableCode": True, "disableStorage": True}
TRACERS: tuple[dict[str, Any], ...] = (
    *({"tracer": "callTracer", "tracerConfig": config} for config in _CALLS),
    *({"tracer": "prestateTracer", "tracerConfig": config} for config in _PRESTATES),
    *({"tracer": name} for name in ("4byteTracer", "flatCallTracer", "noopTracer")),
    {"tracer": "muxTracer", "tracerConfig": {"callTracer": {}, "4byteTracer": {}}},
    {},
    {"enableMemory": True, "enableReturnData": True},
    {"disableStack": True, "disableStorage": True, "limit": 300},
)
"""Configurations of `debug_traceCall`."""


def compare_calls(seed: int, cases: int) -> Comparison:
    """Send this many calls, estimates, access lists and simulations to both nodes, and compare the results."""
    # If a program reads the gas that is left, there is no lowest gas to agree on.
    return _compare(World(seed, (Feature.GAS,)), seed, cases, [_call, _estimate, _access_list, _simulation])


def compare_traces(seed: int, cases: int) -> Comparison:
    """Send this many requests for traces of a call to both nodes, and compare the results."""
    return _compare(World(seed), seed, cases, [_trace])


def _compare(world: World, seed: int, cases: int, kinds: list[Callable[[CallObjects, Random], Request]]) -> Comparison:
    genesis, comparison, random = genesis_of(world), Comparison(seed), Random(f"geth {seed}")
    calls = CallObjects(world, random)
    with filled(genesis, world, seed) as subject, geth(genesis) as peer:
        pair = _Pair(subject.chain.rpc, peer, comparison)
        first = pair.ask("eth_getBlockByNumber", ["0x0", False])
        if first[0]["hash"] != first[1]["hash"]:
            raise RuntimeError("the nodes have other genesis blocks")
        for _ in range(cases):
            pair.compare(*random.choice(kinds)(calls, random))
    return comparison


def _call(calls: CallObjects, random: Random) -> Request:
    return "eth_call", [calls.call(), "latest", *_overrides(calls, random)]


def _estimate(calls: CallObjects, random: Random) -> Request:
    overrides = _overrides(calls, random)
    if overrides:
        # geth estimates with the precompiled contract whose code is overridden.
        overrides[0] = {address: account for address, account in overrides[0].items() if address not in PRECOMPILES}
    return "eth_estimateGas", [calls.call(), "latest", *overrides]


def _access_list(calls: CallObjects, random: Random) -> Request:
    # geth fills in missing fees here alone, and rejects some that it accepts elsewhere. If the gas suffices only
    # without the list, geth removes what it found and repeats the call, without an end.
    left_out = ("gas", "gasPrice", "maxFeePerGas", "maxPriorityFeePerGas", "maxFeePerBlobGas")
    call = {name: value for name, value in calls.call().items() if name not in left_out}
    return "eth_createAccessList", [call, "latest"]


def _simulation(calls: CallObjects, random: Random) -> Request:
    blocks = []
    for _ in range(random.randint(1, 2)):
        block: dict[str, Any] = {"calls": [calls.call() for _ in range(random.randint(1, 3))]}
        for call in block["calls"]:
            if "blobVersionedHashes" in call:
                call.setdefault("maxFeePerBlobGas", hex(GWEI))
        if random.random() < 0.4:
            # geth counts logs of an overridden system contract, which the begin of a block calls.
            block["stateOverrides"] = {
                address: account for address, account in calls.state_overrides().items() if address not in SYSTEM
            }
        if random.random() < 0.3:
            fields = calls.block_overrides()
            # The blocks follow each other, and a larger block reaches the limit of all calls together.
            block["blockOverrides"] = {
                name: fields[name] for name in fields if name not in ("number", "time", "gasLimit")
            }
        blocks.append(block)
    options = {name: random.random() < 0.3 for name in ("validation", "traceTransfers", "returnFullTransactions")}
    return "eth_simulateV1", [{"blockStateCalls": blocks, **options}, "latest"]


def _trace(calls: CallObjects, random: Random) -> Request:
    config = dict(random.choice(TRACERS))
    kind = random.random()
    if kind < 0.4:
        config["stateOverrides"] = calls.state_overrides()
    if kind < 0.15:
        config["blockOverrides"] = calls.block_overrides()
    return "debug_traceCall", [calls.call(), "latest", config]


def _overrides(calls: CallObjects, random: Random) -> list[Any]:
    kind = random.random()
    if kind < 0.2:
        return [calls.state_overrides(), calls.block_overrides()]
    return [calls.state_overrides()] if kind < 0.5 else []


class _Pair:
    """Two nodes, and the differences between their results."""

    def __init__(self, ours: Rpc, theirs: Rpc, comparison: Comparison) -> None:
        self._ours = ours
        self._theirs = theirs
        self._comparison = comparison

    def ask(self, method: str, params: list[Any]) -> tuple[Any, Any]:
        """Return both results, or failures."""
        return answer(self._ours, known.KINDS, method, params), answer(self._theirs, known.KINDS, method, params)

    def compare(self, method: str, params: list[Any]) -> None:
        """Send a request to both, and record a difference that is not listed."""
        ours, theirs = self.ask(method, params)
        self._comparison.compared[method] += 1
        if isinstance(ours, Failure) or isinstance(theirs, Failure):
            self._comparison.compared["failures"] += 1
            is_same = _is_same_failure(method, params, ours, theirs)
        else:
            is_same = self._is_same(method, params, ours, theirs)
        if not is_same:
            differing = "; ".join(map(str, json_differences(theirs, ours)))
            self._comparison.faults.append(f"{method} {orjson.dumps(params).decode()}: {differing}")

    def _is_same(self, method: str, params: list[Any], ours: Any, theirs: Any) -> bool:
        if method == "eth_estimateGas":
            return self._is_same_estimate(params, int(ours, 16), int(theirs, 16))
        if method == "eth_simulateV1" and _has_gas_price(params):
            ours, theirs = (known.without_hashes_of_legacy_transactions(blocks) for blocks in (ours, theirs))
        if method == "debug_traceCall":
            _remove_differences_of_traces(params, ours, theirs)
        return bool(known.without_words(ours) == known.without_words(theirs))

    def _is_same_estimate(self, params: list[Any], own: int, other: int) -> bool:
        if other > own * (1 + known.TOLERANCE):
            return _exceeds_block(params, other)
        if own <= other * (1 + known.TOLERANCE):
            return True
        call, overrides = params[0], dict(zip(("stateOverrides", "blockOverrides"), params[2:], strict=False))
        highest = run(self._theirs, call, min(GAS_LIMIT, int(call.get("gas", hex(GAS_LIMIT)), 16)), **overrides)
        return not is_lossless(self._theirs, call, int(own / (1 + known.TOLERANCE)), highest, **overrides)


def _has_gas_price(params: list[Any]) -> bool:
    return any("gasPrice" in call for block in params[0]["blockStateCalls"] for call in block["calls"])


def _is_same_failure(method: str, params: list[Any], ours: Any, theirs: Any) -> bool:
    kinds = {each.kind for each in (ours, theirs) if isinstance(each, Failure)}
    if known.TIME in kinds:
        return True
    if method != "eth_estimateGas" or not isinstance(ours, Failure):
        return bool(ours == theirs)
    if isinstance(theirs, Failure):
        is_out_of_gas = "gas required exceeds allowance" in theirs.message
        if ours.kind == known.PRECOMPILE and is_out_of_gas:
            return True
        return ours == theirs or kinds <= {known.REJECTED, known.OUT_OF_GAS}
    return ours.kind == known.REJECTED and _exceeds_block(params, int(theirs, 16))


def _remove_differences_of_traces(params: list[Any], ours: Any, theirs: Any) -> None:
    call, config = params[0], params[2]
    known.without_other_reasons(ours, theirs)
    if config.get("tracer") == "prestateTracer":
        known.without_absent_accounts(theirs)
        if "gasPrice" in call and "authorizationList" in call:
            known.without_authorities(ours, theirs, {authority.address.lower() for authority in AUTHORITIES})
    if "tracer" not in config:
        known.without_failed_instructions(ours, theirs)


def _exceeds_block(params: list[Any], estimate: int) -> bool:
    """Return whether the request names more gas than its block has, and geth's estimate is therefore another."""
    limit = int(params[3].get("gasLimit", hex(GAS_LIMIT)), 16) if len(params) > 3 else GAS_LIMIT
    return int(params[0].get("gas", "0x0"), 16) > limit or estimate > limit
