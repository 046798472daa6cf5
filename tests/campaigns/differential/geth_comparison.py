"""Random calls, estimates, access lists, simulations and traces on Foreseal and on geth, at one genesis."""

from collections.abc import Callable
from random import Random
from typing import Any

import orjson

from differential import geth_differences as known
from differential.call_objects import CallObjects
from differential.chain import GAS_LIMIT, filled, genesis_of
from differential.comparison import Comparison, paths_that_differ
from differential.geth import geth
from differential.precompiles import PRECOMPILES
from differential.workload import AUTHORITIES, BEACON_ROOTS, CONSOLIDATIONS, HISTORY, WITHDRAWALS, Feature, World
from foreseal.errors import RpcError
from live import RpcFailure
from live.sending import GWEI

SYSTEM = BEACON_ROOTS, CONSOLIDATIONS, HISTORY, WITHDRAWALS
Rpc = Callable[..., Any]
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
    genesis, found, random = genesis_of(world), Comparison(seed), Random(f"geth {seed}")
    calls = CallObjects(world, random)
    with filled(genesis, world, seed) as subject, geth(genesis) as peer:
        pair = _Pair(subject.chain.rpc, peer, found)
        first = pair.ask("eth_getBlockByNumber", ["0x0", False])
        if first[0]["hash"] != first[1]["hash"]:
            raise RuntimeError("the nodes have other genesis blocks")
        for _ in range(cases):
            pair.compare(*random.choice(kinds)(calls, random))
    return found


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

    def __init__(self, ours: Rpc, theirs: Rpc, found: Comparison) -> None:
        self._ours = ours
        self._theirs = theirs
        self._found = found

    def ask(self, method: str, params: list[Any]) -> tuple[Any, Any]:
        """Return both results, or failures."""
        return _answer(self._ours, method, params), _answer(self._theirs, method, params)

    def compare(self, method: str, params: list[Any]) -> None:
        """Send a request to both, and record a difference that is not listed."""
        ours, theirs = self.ask(method, params)
        self._found.compared[method] += 1
        if isinstance(ours, known.Failure) or isinstance(theirs, known.Failure):
            self._found.compared["failures"] += 1
            is_same = _is_same_failure(method, params, ours, theirs)
        else:
            is_same = _is_same(method, params, ours, theirs)
        if not is_same:
            differing = "; ".join(paths_that_differ(ours, theirs))
            self._found.faults.append(f"{method} {orjson.dumps(params).decode()}: {differing}")


def _is_same_failure(method: str, params: list[Any], ours: Any, theirs: Any) -> bool:
    if "time" in (getattr(ours, "kind", ""), getattr(theirs, "kind", "")):
        return True
    if method == "eth_estimateGas" and isinstance(ours, known.Failure) and isinstance(theirs, known.Failure):
        # spec.md: the message of a revert is fixed, its data is compared.
        return ours == theirs or {ours.kind, theirs.kind} <= {"rejected", "out of gas"}
    if method == "eth_estimateGas" and isinstance(ours, known.Failure):
        return ours.kind == "rejected" and _exceeds_block(params, int(theirs, 16))
    return bool(ours == theirs)


def _is_same(method: str, params: list[Any], ours: Any, theirs: Any) -> bool:
    if method == "eth_estimateGas":
        low, high = sorted((int(ours, 16), int(theirs, 16)))
        return high <= low * (1 + known.TOLERANCE) or _exceeds_block(params, int(theirs, 16))
    if method == "eth_simulateV1" and any(
        "gasPrice" in call for block in params[0]["blockStateCalls"] for call in block["calls"]
    ):
        ours, theirs = (known.without_hashes_of_legacy_transactions(blocks) for blocks in (ours, theirs))
    if method == "debug_traceCall":
        _remove_differences_of_traces(params, ours, theirs)
    return bool(known.without_words(ours) == known.without_words(theirs))


def _remove_differences_of_traces(params: list[Any], ours: Any, theirs: Any) -> None:
    call, config = params[0], params[2]
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


def _answer(rpc: Rpc, method: str, params: list[Any]) -> Any:
    try:
        return rpc(method, *params)
    except RpcFailure as error:
        return known.failure(error.message, error.data)
    except RpcError as error:
        return known.failure(error.message, None if error.data is None else orjson.loads(error.data))
