"""One call, wherever it is answered: refused here, by a registered Python function, by the core or by a core thread."""

import asyncio
from collections.abc import Mapping
from functools import partial

from foreseal.errors import RpcError
from foreseal.rpc import codes, discovery
from foreseal.rpc.completions import Completions
from foreseal.rpc.core import Core, Outcome, Reader
from foreseal.rpc.filters import METHODS as FILTERING
from foreseal.rpc.filters import TierFilters
from foreseal.rpc.meter import Meter
from foreseal.rpc.refused import FORBIDDEN, Refused, busy, refused
from foreseal.rpc.registry import Registry
from foreseal.rpc.session import METHODS as STREAMING
from foreseal.rpc.session import Exchange

# Beyond the limit of all a caller with fewer calls under way than the first number is admitted up to so many times that
# limit: others cannot use up its place, however many they are.
_ASSURED = ((4, 8), (8, 4))
_NO_CONNECTION = RpcError(codes.METHOD, "subscriptions belong to a connection: open a WebSocket at the same URL", None)


class Calls:
    """Runs calls against one node. Used from the event loop's thread only."""

    def __init__(
        self,
        core: Core,
        registry: Registry,
        most: int,
        forbidden: Mapping[str, str],
        completions: Completions | None = None,
        filters: TierFilters | None = None,
    ) -> None:
        """`forbidden` has the methods that are not for these callers, each with what to tell them.

        `filters` are those of these callers; without it they have no limit but that of the core.
        """
        self.completions = Completions(core) if completions is None else completions
        self._registry = registry
        self._registered = registry.methods
        self._most = most
        self._forbidden = forbidden
        self.filters = filters
        """The filters of these callers; None where they have no limits but that of the core."""
        # Methods that need a second check: forbidden ones, those seen to run on core threads, those that list methods,
        # those that belong to a connection, and those of filters.
        self._apart = {*forbidden, *discovery.METHODS, *STREAMING, *FILTERING}

    def run(
        self,
        reader: Reader,
        method: str,
        params: bytes,
        exchange: Exchange | None = None,
        meter: Meter | None = None,
    ) -> Outcome | asyncio.Future[Outcome]:
        """Start a call against `reader`; its outcome at once, or the future of it.

        `exchange` is that of a connection which stays open; without one there are no subscriptions. `meter` is that
        of a caller with bounds of its own.
        """
        if method in self._apart:
            refusal = self._refusal(method, meter)
            if refusal is not None:
                return refusal
            if method in STREAMING:
                return _NO_CONNECTION if exchange is None else exchange.call(method, params)
            if method in discovery.METHODS and self._registered and method not in self._registered:
                return self._listing(reader, method, params, meter)
            if method in FILTERING and self.filters is not None and method not in self._registered:
                run = partial(self._run, reader, meter=meter)
                return self.filters.call(method, params, meter, run)
        if method in self._registered:
            return self._registry.call(method, params)
        return self._run(reader, method, params, meter)

    def _run(
        self, reader: Reader, method: str, params: bytes, meter: Meter | None
    ) -> Outcome | asyncio.Future[Outcome]:
        """Start a call of the core."""
        completions = self.completions
        try:
            result = reader.call(method, params, completions.ticket, None if meter is None else meter.scheduled)
        except RpcError as error:
            # The traceback names the callers' frames, which hold the error: a cycle around a whole body.
            return error.with_traceback(None)
        if result is not None:
            return result
        self._apart.add(method)
        return completions.due(meter)

    def _listing(
        self, reader: Reader, method: str, params: bytes, meter: Meter | None
    ) -> Outcome | asyncio.Future[Outcome]:
        """The core's list of methods together with those registered from Python."""
        try:
            answer = reader.call(method, params, self.completions.ticket, None if meter is None else meter.scheduled)
        except RpcError as error:
            # The traceback names the callers' frames, which hold the error: a cycle around a whole body.
            return error.with_traceback(None)
        if answer is None:
            return asyncio.ensure_future(self._listed(method, self.completions.due(meter)))
        return self._joined(method, answer)

    async def _listed(self, method: str, due: asyncio.Future[Outcome]) -> Outcome:
        return self._joined(method, await due)

    def _joined(self, method: str, answer: Outcome) -> Outcome:
        if isinstance(answer, RpcError):
            return answer
        signatures = {name: signature for name, (_, signature) in self._registered.items()}
        return discovery.with_registered(method, answer, signatures)

    def _refusal(self, method: str, meter: Meter | None) -> Refused | None:
        """Why a method that is forbidden, or that runs on core threads, is not taken; None if it is."""
        if method in self._forbidden:
            return refused(FORBIDDEN, codes.FORBIDDEN, self._forbidden[method])
        if method in STREAMING:
            return None
        under_way = len(self.completions)
        if under_way >= self._most and not (
            meter is not None and any(meter.running < few and under_way < times * self._most for few, times in _ASSURED)
        ):
            return busy("calls", self._most, "too many calls at once: try again")
        return None if meter is None else meter.full()
