"""Replays a recording of a driver, and synchronizes as op-node does after a restart of the node."""

from typing import Any

from json_differences import json_differences
from live.rpc import RpcFailure
from optimism.engine_client import ZERO_HASH, EngineClient
from optimism.exchanges import Exchange

# Each node has other payload ids, the reason of an invalid block is free text, and op-geth adds a field that is null.
_IGNORED = ("payloadId", "validationError", "slotNumber")
_NAMES = {"latest": "headBlockHash", "safe": "safeBlockHash", "finalized": "finalizedBlockHash"}


class RecordedDriver:
    """Position in a recording, and the fork choice that the node acknowledged."""

    def __init__(self, engine: EngineClient, exchanges: list[Exchange]) -> None:
        self.engine = engine
        self.position = 0
        """Index of the next exchange."""
        self.faults: list[str] = []
        self.passed = 0
        """Number of exchanges with the recorded result."""
        self._exchanges = exchanges
        self._acknowledged: dict[str, Any] | None = None
        """State of the last fork choice that the node acknowledged."""
        self._ids: dict[str, str] = {}
        """Payload ids of this node by those of the recording."""

    @property
    def is_complete(self) -> bool:
        """True at the end of the recording."""
        return self.position == len(self._exchanges)

    def replay(self) -> None:
        """Replay the rest of the recording. Raise an error of the connection if the node is killed."""
        while not self.is_complete:
            self._exchange(self._exchanges[self.position])
            self.position += 1

    def synchronize(self) -> bool:
        """Send the head, the attributes of the open payload and later blocks again: the node may have lost them.

        Return True if a payload was open.
        """
        if self._acknowledged is None:
            return False
        state = self._read_state()
        self._call("engine_forkchoiceUpdatedV3", [state, None])
        opened = self._open_payload()
        if opened is not None:
            result = self._call("engine_forkchoiceUpdatedV3", [state, opened.attributes])
            if opened.payload_id is not None:
                self._ids[opened.payload_id] = result["payloadId"]
        for exchange in self._since_fork_choice():
            if exchange.method.startswith("engine_newPayload"):
                self._exchange(exchange)
        return opened is not None

    def _exchange(self, exchange: Exchange) -> None:
        params = exchange.params
        if exchange.method.startswith("engine_getPayload"):
            params = [self._ids.get(params[0], params[0])]
        try:
            result = self.engine(exchange.method, *params)
        except RpcFailure as error:
            expected = exchange.response.get("error")
            if expected is None or expected["code"] != error.code:
                self.faults.append(f"exchange {self.position}, {exchange.method}: {error}, recorded {expected}")
            return
        if "error" in exchange.response:
            self.faults.append(f"exchange {self.position}, {exchange.method}: a result, recorded {exchange.response}")
            return
        differences = list(json_differences(exchange.response["result"], result, ignored=_IGNORED))
        self.faults += [f"exchange {self.position}, {exchange.method}: {each}" for each in differences[:3]]
        self.passed += not differences
        if exchange.payload_id is not None:
            self._ids[exchange.payload_id] = result["payloadId"]
        if exchange.is_fork_choice and result["payloadStatus"]["status"] == "VALID":
            self._acknowledged = exchange.params[0]

    def _read_state(self) -> dict[str, str]:
        """Return head, safe and finalized of the node: the acknowledged ones, or those of the call in flight."""
        assert self._acknowledged is not None
        state: dict[str, str] = {}
        following = self._exchanges[self.position].params[0] if self._in_flight() else self._acknowledged
        for tag, name in _NAMES.items():
            block = self.engine.find_block(tag)
            state[name] = ZERO_HASH if block is None else block["hash"]
            if state[name] not in (self._acknowledged[name], following[name]):
                self.faults.append(
                    f"lost: {tag} {self._acknowledged[name]} was acknowledged before exchange {self.position}, the "
                    f"node has {state[name]}"
                )
        return state

    def _in_flight(self) -> bool:
        """Return True if the interrupted call is a fork choice."""
        return not self.is_complete and self._exchanges[self.position].is_fork_choice

    def _open_payload(self) -> Exchange | None:
        """Return the fork choice that opened the payload which the recording gets next."""
        before = [each for each in self._exchanges[: self.position] if each.attributes is not None]
        if not before or before[-1].payload_id is None:
            return None
        rest = self._exchanges[self.position :]
        later = next((each for each in rest if each.attributes is not None), None)
        following = rest[: rest.index(later)] if later is not None else rest
        wanted = before[-1].payload_id
        is_wanted = any(each.method.startswith("engine_getPayload") and each.params[0] == wanted for each in following)
        return before[-1] if is_wanted else None

    def _since_fork_choice(self) -> list[Exchange]:
        """Return the exchanges after the last fork choice, up to the interrupted one."""
        exchanges: list[Exchange] = []
        for exchange in reversed(self._exchanges[: self.position]):
            if exchange.is_fork_choice:
                break
            exchanges.append(exchange)
        return exchanges[::-1]

    def _call(self, method: str, params: list[Any]) -> Any:
        result = self.engine(method, *params)
        if result["payloadStatus"]["status"] != "VALID":
            self.faults.append(f"after a restart at exchange {self.position}: {result}")
        return result
