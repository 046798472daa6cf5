"""A merchant's service on a chain, called without a socket; every response is checked against the document."""

import asyncio
import re
from collections.abc import Callable
from concurrent.futures import Executor, Future
from functools import partial
from pathlib import Path
from typing import Any

import httpx
from eth_account.signers.local import LocalAccount
from jsonschema import Draft202012Validator
from referencing import Registry
from referencing.jsonschema import DRAFT202012
from sqlalchemy import select

from foreseal.errors import RpcError
from foreseal.payments.api import api_keys
from foreseal.payments.api.app import build_application
from foreseal.payments.api.backend import Backend
from foreseal.payments.api.events import encode_events
from foreseal.payments.api.idempotency import IdempotentRequests
from foreseal.payments.api.payment_queue import PaymentQueue
from foreseal.payments.api.roles import Role
from foreseal.payments.api.routes.service import Monitoring
from foreseal.payments.api.views import Views
from foreseal.payments.api.webhook_outbox import WebhookOutbox
from foreseal.payments.configuration import read
from foreseal.payments.configuration.webhook_targets import PUBLIC_ONLY, AddressPolicy
from foreseal.payments.ledger.models import OrderRecord
from foreseal.payments.ledger.queries import fetch_one
from foreseal.payments.typed_data import Cancellation, ReceiveAuthorization
from foreseal.payments.workers.process_registry import ProcessRegistry
from foreseal.payments.workers.webhook_dispatcher import DispatcherSettings, WebhookDispatcher
from foreseal.payments.workers.webhook_transport import PostFailed, PostResponse
from foreseal.payments.workers.worker import Worker
from payments.fake.contracts import NAME, PAYOUTS, TOKEN, VERSION
from payments.fake.node import Disturbed
from payments.people import BRANCH
from payments.shop import BUYER, BUYERS, FUNDS, SHOP, Chains, Crashes, make_fake_chain

LEASE = 30


class AtOnce(Executor):
    """An executor that runs each task before `submit` returns."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        fn(*args, **kwargs)
        return Future()


class Post:
    """Targets of webhooks that record posts and return the test's status; 0 is no response."""

    def __init__(self) -> None:
        self.got: list[tuple[str, bytes, dict[str, str]]] = []
        self.status: Callable[[str], int] = lambda url: 200
        self.retry_after: str | None = None
        self.in_flight = self.most_in_flight = 0

    def __call__(self, url: str, _: AddressPolicy) -> "FakeTransport":
        return FakeTransport(self, url)


class FakeTransport:
    """The connection to one of the targets."""

    def __init__(self, target: Post, url: str) -> None:
        self._target = target
        self._url = url

    async def post(self, body: bytes, headers: Any) -> PostResponse:
        self._target.got.append((self._url, body, dict(headers)))
        self._target.in_flight += 1
        self._target.most_in_flight = max(self._target.most_in_flight, self._target.in_flight)
        status = self._target.status(self._url)
        await asyncio.sleep(0)
        self._target.in_flight -= 1
        if not status:
            raise PostFailed("no response")
        return PostResponse(status, self._target.retry_after)

    async def close(self) -> None:
        pass


class Batches:
    """The node as a client with batches; counts its round trips."""

    def __init__(self, node: Disturbed) -> None:
        self.node = node
        self.asked = 0
        self.takes_batches = True

    def request(self, method: str, *params: Any) -> Any:
        self.asked += 1
        return self.node.request(method, *params)

    def batch(self, requests: Any, *, return_errors: bool = False) -> list[Any]:
        assert return_errors
        self.asked += 1
        if not self.takes_batches:
            raise RpcError(-32600, "no batches")
        return [self._one(each) for each in requests]

    def _one(self, request: Any) -> Any:
        try:
            return self.node.request(request.method, *request.params)
        except RpcError as error:
            return error


def call_application(app: Any, method: str, path: str, **more: Any) -> httpx.Response:
    """Send a request without a socket, on a new event loop, from any thread."""

    async def one() -> httpx.Response:
        transport = httpx.ASGITransport(app, raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url="http://shop.test") as client:
            return await client.request(method, path, **more)

    return asyncio.run(one())


class Process:
    """One process of the service on a database and a chain that others may share."""

    def __init__(self, service: "ServiceHarness", name: str) -> None:
        self.crashes = Crashes()
        config = read(service.file)
        self.backend = Backend.open(config, service.environment, service.clock, service.batches, self.crashes)
        self.processes = ProcessRegistry(self.backend.database, name, LEASE)
        encode = partial(encode_events, Views(self.backend.destinations.labels))
        self.outbox = WebhookOutbox(self.backend.database, service.clock, f"{name} 1", LEASE, encode)
        self.post = service.post
        self.dispatcher = WebhookDispatcher(self.outbox, DispatcherSettings({}, PUBLIC_ONLY), service.post)
        self.worker = Worker(self.backend, self.processes, AtOnce(), AtOnce(), lambda: None)
        self.requests = IdempotentRequests(self.backend.database, service.clock, name, LEASE)
        self.payments = PaymentQueue(self.backend.database, self.requests, lambda: None)
        self.payments.start()
        self._monitoring = Monitoring(lambda: service.health)
        self.app = self.build_app()

    def build_app(self) -> Any:
        """Return a new application, which has counted no requests."""
        return build_application(self.backend, self.requests, self.payments, self._monitoring, lambda: None)

    def request(self, method: str, path: str, **more: Any) -> httpx.Response:
        """Send a request without a socket, from any thread."""
        return call_application(self.app, method, path, **more)

    def deliver(self) -> int:
        """Deliver all due webhooks and return the number of attempts."""
        before = len(self.post.got)

        async def cycles() -> None:
            await self.dispatcher.run_cycle()  # finds new targets
            posted = -1
            while posted != len(self.post.got):
                posted = len(self.post.got)
                await self.dispatcher.run_cycle()
                await self.dispatcher.finish_posts()

        asyncio.run(cycles())
        return len(self.post.got) - before

    def close(self) -> None:
        self.payments.stop()
        self.dispatcher.stop()
        self.backend.close()


class ServiceHarness:
    """The service; `restart` is a new process."""

    def __init__(
        self, url: str, folder: Path, more: str = "", finality: int = 40, chains: Chains = make_fake_chain
    ) -> None:
        self.node: Any
        self.chain, self.node = chains(finality)
        self.chain.change(lambda state: state.balances.update({each.address.lower(): FUNDS for each in BUYERS}))
        self.batches = Batches(self.node)
        self.post = Post()
        self.offset = 0.0
        self.drawn = 0
        self.health: Any = {"status": "ok", "reasons": [], "node": {"block_age": None}}
        self.url = url
        self.environment = {"SHOP_KEY": "0x" + bytes(SHOP.key).hex(), "BRANCH_KEY": "0x" + bytes(BRANCH.key).hex()}
        self.file = folder / "pay.toml"
        self.configure(more)
        self.others: list[Process] = []
        self.process = Process(self, "a")
        self.keys = {}
        with self.database.transaction() as tx:
            for role in Role:
                self.keys[role] = api_keys.create(tx, role.value, role, self.chain.time)
        self.document: dict[str, Any] = {}
        self.document = self.get("/v1/openapi.json")

    def configure(self, more: str = "", payee: str = "SHOP_KEY") -> None:
        """Write the configuration, which the next process reads."""
        self.file.write_text(
            f"""
[node]
url = "http://127.0.0.1:1"
chain_id = {self.chain.chain_id}
[token]
address = "{TOKEN}"
name = "{NAME}"
version = "{VERSION}"
[payee]
key_env = "{payee}"
[database]
url = '{self.url}'
[serve]
payouts = "{PAYOUTS}"
{more}
"""
        )

    def clock(self) -> float:
        return float(self.chain.time) + self.offset

    def pending_time(self) -> int:
        """Time of the pending block."""
        return int(self.node.request("eth_getBlockByNumber", "pending", False)["timestamp"], 16)

    @property
    def backend(self) -> Backend:
        return self.process.backend

    @property
    def database(self) -> Any:
        return self.process.backend.database

    def restart(self) -> None:
        self.process.close()
        self.process = Process(self, "a")

    def another(self, name: str = "b") -> Process:
        """Start another process of the service."""
        self.others.append(Process(self, name))
        return self.others[-1]

    def close(self) -> None:
        for each in (self.process, *self.others):
            each.close()

    def key(self) -> str:
        """Return a new Idempotency-Key."""
        self.drawn += 1
        return f"key {self.drawn}"

    def request(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        role: Role | None = Role.ADMIN,
        key: str | None = None,
        process: Process | None = None,
        **more: Any,
    ) -> httpx.Response:
        """Return a response, which must conform to the document."""
        headers = dict(more.pop("headers", {}))
        if role is not None:
            headers["authorization"] = f"Bearer {self.keys[role]}"
        if method == "POST":
            headers.setdefault("idempotency-key", self.key() if key is None else key)
        content = {"content": body} if isinstance(body, bytes) else {} if body is None else {"json": body}
        response = (process or self.process).request(method, path, headers=headers, **content, **more)
        if self.document:
            conforms(self.document, method, path, response)
        return response

    def get(self, path: str, **more: Any) -> Any:
        response = self.request("GET", path, **more)
        assert response.status_code == 200, response.text
        return response.json()

    def balance(self) -> tuple[Any, Any]:
        """Return the balance, and the sums of the first destination."""
        balance = self.get("/v1/balance")
        return balance, balance["destinations"][0]

    def made(self, path: str, body: Any = None, **more: Any) -> Any:
        """Return the body of a successful POST."""
        response = self.request("POST", path, body, **more)
        assert response.status_code in (200, 201), response.text
        return response.json()

    def refused(self, status: int, code: str, path: str, body: Any = None, **more: Any) -> dict[str, Any]:
        """Return the error of a rejected POST."""
        response = self.request("POST", path, body, **more)
        error: dict[str, Any] = response.json()["error"]
        assert (response.status_code, error["code"]) == (status, code), response.text
        return error

    def draft(self, id: str, amount: int = 500, buyer: LocalAccount = BUYER, **more: Any) -> Any:
        body = {"id": id, "payer": buyer.address, "amount": str(amount)} | more
        return self.made("/v1/orders", body, role=Role.CASHIER)

    def signature(self, id: str, buyer: LocalAccount = BUYER) -> str:
        order = self.order(id)
        payer = order.payer or buyer.address
        message = ReceiveAuthorization(
            payer, order.payee, order.amount, order.valid_after, order.valid_before, order.nonce
        )
        return "0x" + message.sign(self.backend.order_destination(id).merchant.domain, bytes(buyer.key)).hex()

    def cancellation(self, id: str, buyer: LocalAccount = BUYER) -> str:
        order = self.order(id)
        message = Cancellation(order.payer or buyer.address, order.nonce)
        return "0x" + message.sign(self.backend.order_destination(id).merchant.domain, bytes(buyer.key)).hex()

    def stored(self, id: str, amount: int = 500, buyer: LocalAccount = BUYER, **more: Any) -> str:
        self.draft(id, amount, buyer, **more)
        self.made(f"/v1/orders/{id}/signature", {"signature": self.signature(id, buyer)}, role=Role.CASHIER)
        return id

    def captured(self, id: str, amount: int = 500, buyer: LocalAccount = BUYER) -> str:
        """Create an order whose capture is final."""
        self.made(f"/v1/orders/{self.stored(id, amount, buyer)}/capture", role=Role.CASHIER)
        self.settle()
        return id

    def settle(self) -> None:
        """Wait until everything is final."""
        for _ in range(3):
            self.run_pass()
            self.chain.mine(self.chain.finality + 1)
        self.run_pass()

    def run_pass(self) -> None:
        """Run one pass of the worker over everything; a failure fails the test."""
        self.offset += 60
        self.process.worker.run_pass()
        assert self.process.worker.state.errors == 0

    def order(self, id: str) -> OrderRecord:
        """Return the row of an order."""
        with self.database.reading() as tx:
            return fetch_one(tx, select(OrderRecord).where(OrderRecord.id == id))

    def state(self, id: str) -> str:
        order = self.get(f"/v1/orders/{id}")["order"]
        return f"{order['state']} / {order['finality'] or order['tx_status'] or 'idle'}"

    def ids(self) -> list[str]:
        with self.database.reading() as tx:
            return list(tx.execute(select(OrderRecord.id).order_by(OrderRecord.id)).scalars())


def conforms(document: dict[str, Any], method: str, path: str, response: httpx.Response) -> None:
    """Check that the document allows this response."""
    bare = path.partition("?")[0]
    templates = [each for each in document["paths"] if re.fullmatch(re.sub(r"{\w+}", "[^/]+", each), bare)]
    if not templates:
        assert response.status_code == 404, path
        return
    operation = document["paths"][max(templates, key=lambda each: "{" not in each)].get(method.lower())
    if operation is None:
        assert response.status_code == 405, (method, path)
        return
    told = operation["responses"][str(response.status_code)]
    (media,) = told["content"]
    assert response.headers["content-type"].partition(";")[0] == media
    if media != "application/json":
        return
    registry: Registry[Any] = Registry().with_resource("urn:doc", DRAFT202012.create_resource(document))
    schema = {"$ref": "urn:doc" + _pointer(method, operation, document, response.status_code)}
    Draft202012Validator(schema, registry=registry).validate(response.json())


def _pointer(method: str, operation: Any, document: Any, status: int) -> str:
    path = next(name for name, item in document["paths"].items() if item.get(method.lower()) is operation)
    escaped = path.replace("~", "~0").replace("/", "~1")
    escaped = escaped.replace("{", "%7B").replace("}", "%7D")
    return f"#/paths/{escaped}/{method.lower()}/responses/{status}/content/application~1json/schema"
