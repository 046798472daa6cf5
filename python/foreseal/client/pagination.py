"""Requests with paginated results: steps and logs."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from foreseal.client.cursor import Cursor, checked_cursor
from foreseal.client.errors import InvalidResponse
from foreseal.client.flashblock_parts import FlashblockAssembler
from foreseal.client.flashblocks import FlashblockPage
from foreseal.client.json_model import JsonModel
from foreseal.client.requests import BlockId, Hex, Request, block_hash, block_id, data
from foreseal.client.sans_io import Flow
from foreseal.client.session import ClientSession
from foreseal.client.transactions import Log

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class LogPage(JsonModel):
    """Logs after a cursor; logs with `removed` left the chain, last one first."""

    logs: tuple[Log, ...]
    cursor: str | None
    """Cursor of the next page; None at the end, which only a range with a numbered last block has."""


def flashblocks_request(cursor: Cursor | None, limit: int, read: Callable[[Any], T]) -> Request[T]:
    """Request the steps after the cursor; None: no steps, and the cursor of the newest one. Raise TypeError."""
    position = None if cursor is None else checked_cursor(cursor).to_json()
    return Request("foreseal_getFlashblocks", (position, hex(limit)), read)


def flashblock_parts_request(cursor: Any, limit: int, read: Callable[[Any], T]) -> Request[T]:
    """Request the rest of a step from the cursor of the page before, which is inside the step."""
    return Request("foreseal_getFlashblocks", (cursor, hex(limit)), read)


def raw_page(value: Any) -> dict[str, Any]:
    """Return a page whose steps are not parsed. Raise InvalidResponse."""
    if not isinstance(value, dict) or not isinstance(value.get("flashblocks"), list):
        raise InvalidResponse("foreseal_getFlashblocks: the result is not a page")
    return value


def get_flashblocks(session: ClientSession, cursor: Cursor | None = None, limit: int = 100) -> Flow[FlashblockPage]:
    """Return the steps after a cursor, reorged ones first; None: an empty page whose cursor is the newest step.

    If the page ends inside a large step, the rest of the step is read in further pages.
    """
    page = yield from session.execute(flashblocks_request(cursor, limit, raw_page))
    parts = FlashblockAssembler()
    steps = []
    while True:
        steps += [step for step in map(parts.add, page["flashblocks"]) if step is not None]
        if parts.is_empty:
            return FlashblockPage.read(page | {"flashblocks": steps})
        page = yield from session.execute(flashblock_parts_request(page.get("cursor"), 1, raw_page))


def log_filter(
    from_block: BlockId | None,
    to_block: BlockId | None,
    address: Hex | Sequence[Hex] | None,
    topics: Sequence[Hex | Sequence[Hex] | None] | None,
    block: BlockId | None,
) -> dict[str, Any]:
    """Return a filter object. Raise TypeError or ValueError."""
    fields: dict[str, Any] = {}
    if block is not None:
        fields["blockHash"] = block_hash(block)
        if fields["blockHash"] is None:
            raise ValueError(
                "block must be the hash or cursor of a block or step; for a range pass from_block and to_block"
            )
    if from_block is not None:
        fields["fromBlock"] = block_id(from_block)
    if to_block is not None:
        fields["toBlock"] = block_id(to_block)
    if address is not None:
        fields["address"] = _single_or_list(address)
    if topics is not None:
        fields["topics"] = [None if topic is None else _single_or_list(topic) for topic in topics]
    return fields


def _single_or_list(value: Hex | Sequence[Hex]) -> Any:
    return data(value) if isinstance(value, str | bytes | bytearray) else [data(item) for item in value]


def logs_request(fields: dict[str, Any], cursor: str | None, limit: int | None) -> Request[LogPage]:
    """Request a page of the logs that match a filter."""
    params: dict[str, Any] = {"filter": fields}
    if cursor is not None:
        params["cursor"] = cursor
    if limit is not None:
        params["limit"] = hex(limit)
    return Request("foreseal_getLogs", (params,), LogPage.read)


def get_logs(
    session: ClientSession,
    from_block: BlockId | None = None,
    to_block: BlockId | None = None,
    address: Hex | Sequence[Hex] | None = None,
    topics: Sequence[Hex | Sequence[Hex] | None] | None = None,
    *,
    block: BlockId | None = None,
    page: int | None = None,
) -> Flow[list[Log]]:
    """Return all logs of a range, or of a `block` by hash or `Cursor`, read in pages of `page` logs.

    Logs that leave the chain meanwhile are removed from the result.
    """
    fields = log_filter(from_block, to_block, address, topics, block)
    logs: list[Log] = []
    cursor: str | None = None
    while True:
        answer = yield from session.execute(logs_request(fields, cursor, page))
        for log in answer.logs:
            if not log.removed:
                logs.append(log)
            elif logs:
                logs.pop()
        cursor = answer.cursor
        # Only an open-ended range ends with an empty page; any other empty page may have successors.
        if cursor is None or (not answer.logs and not _block_range(fields)):
            return logs


def _block_range(fields: dict[str, Any]) -> bool:
    return "blockHash" in fields or str(fields.get("toBlock", "")).startswith("0x")
