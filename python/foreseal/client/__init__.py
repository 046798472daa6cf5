"""A client of a Foreseal node: typed calls, and a feed of steps that survives lost connections and restarts.

    with Client("ws://127.0.0.1:8545") as client:
        receipt = client.send_raw_transaction_sync(raw)
        for event in client.feed(saved):
            ...

`AsyncClient` is the asyncio counterpart. Both support HTTP, WebSocket and targets in this process. All targets except a
chain in this process need `pip install 'foreseal[client]'`.

Design: docs/design/decisions/python-client.md.
"""

from foreseal.client import calls
from foreseal.client.backoff import Backoff
from foreseal.client.blocks import Block, Header, Withdrawal
from foreseal.client.client import AsyncClient, AsyncEventIterator, Client, EventIterator
from foreseal.client.cursor import Cursor
from foreseal.client.errors import (
    ClientError,
    ConnectionLost,
    CursorGone,
    FeedBroken,
    FeedError,
    InvalidResponse,
    RpcError,
    TimedOut,
)
from foreseal.client.flashblocks import Event, Flashblock, FlashblockPage, StepAdded, StepRemoved
from foreseal.client.options import Options
from foreseal.client.pagination import LogPage
from foreseal.client.requests import Position, Request
from foreseal.client.status import PoolStatus, Status, StoreStatus
from foreseal.client.transactions import AccessListItem, Authorization, Log, Receipt, Transaction, TransactionStatus

__all__ = [
    "AccessListItem",
    "AsyncClient",
    "AsyncEventIterator",
    "Authorization",
    "Backoff",
    "Block",
    "Client",
    "ClientError",
    "ConnectionLost",
    "Cursor",
    "CursorGone",
    "Event",
    "EventIterator",
    "FeedBroken",
    "FeedError",
    "Flashblock",
    "FlashblockPage",
    "Header",
    "InvalidResponse",
    "Log",
    "LogPage",
    "Options",
    "PoolStatus",
    "Position",
    "Receipt",
    "Request",
    "RpcError",
    "Status",
    "StepAdded",
    "StepRemoved",
    "StoreStatus",
    "TimedOut",
    "Transaction",
    "TransactionStatus",
    "Withdrawal",
    "calls",
]
