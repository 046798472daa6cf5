"""Delay and rejections of honest payments, with and without shoppers whose wallets do not end.

`PYTHONPATH=tests/support:tests/campaigns python -m strangers_code` starts a node and `foreseal pay serve`. Periods with
and without the attack alternate. In an attack, the wallet signs orders at the checkout within the limits of one
address, and payments at the merchant's API. Exit 1 if an honest payment is rejected, if its p99 exceeds that of the
control by more than `--margin`, or if the circuit breaker opened.
"""

import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx

from campaign_cli import conclude, options, quantile, show
from foreseal.payments.contracts.development import NAME, TOKEN, VERSION
from foreseal.payments.typed_data import Domain, ReceiveAuthorization, random_nonce
from live.accounts import DEV_ACCOUNTS
from live.process import LiveNode, foreseal_command, stopping
from payments.api.serving import BUYERS, MERCHANT, Shopper, api_key, configure, serving, signature
from payments.contracts.wallet_code import endless_wallet

WALLET, HONEST = DEV_ACCOUNTS[12], BUYERS
DOMAIN = Domain(NAME, VERSION, 31337, TOKEN)
CHECKOUT = """
[checkout]
public_url = "http://127.0.0.1:8080"
merchant_name = "Shop"
"""
SHOPPERS = 20
"""Signatures that one address may send at once."""


@dataclass
class Period:
    """Honest payments of all periods of one kind. Times in seconds."""

    name: str
    payments: int = 0
    p50: float = 0.0
    p99: float = 0.0
    slowest: float = 0.0
    answers: dict[str, int] = field(default_factory=dict)
    """Honest payments by status and error code."""
    attack_answers: dict[str, int] = field(default_factory=dict)
    """Payments of the wallet by status and error code."""

    def __str__(self) -> str:
        times = f"p50 {self.p50 * 1000:.0f} ms, p99 {self.p99 * 1000:.0f} ms, slowest {self.slowest * 1000:.0f} ms"
        attack = f"; payments of the wallet {self.attack_answers}" if self.attack_answers else ""
        return f"{self.name}: {self.payments} honest payments, {times}, {self.answers}{attack}"


class Attack:
    """Shoppers and payments of one wallet, as long as the context lasts."""

    def __init__(self, url: str, key: str, answers: Counter[str], number: int) -> None:
        self._url, self._key, self._answers, self._number = url, key, answers, number
        self._ended = threading.Event()
        self._pool = ThreadPoolExecutor(SHOPPERS + 2)
        # One client, made before: the load shares the processors with the service.
        self._client = httpx.Client(base_url=url, timeout=60)
        self._merchants = [Shopper(url, key, f"wallet {number} {worker} ") for worker in range(2)]

    def __enter__(self) -> None:
        with Shopper(self._url, self._key, f"orders {self._number} ") as merchant:
            bodies = []
            for number in range(SHOPPERS):
                id = f"w{self._number}-{number}"
                made = merchant.made("/v1/orders", {"id": id, "amount": "500", "auto_capture": True})
                typed = merchant.get(f"/v1/orders/{id}/typed-data?payer={WALLET.address}")
                bodies.append((id, urlsplit(made["checkout_url"]).fragment, signature(WALLET, typed)))
        for body in bodies:
            self._pool.submit(self._shop, *body)
        for each in self._merchants:
            self._pool.submit(self._pay, each)

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._pool.shutdown()
        self._client.close()
        for merchant in self._merchants:
            merchant.client.close()

    def _shop(self, id: str, secret: str, signed: str) -> None:
        path, headers = f"/v1/checkout/{id}/authorization", {"foreseal-client-secret": secret}
        body = {"signature": signed, "payer": WALLET.address}
        while not self._ended.is_set():
            self._count(self._client.post(path, json=body, headers=headers))
            self._ended.wait(SHOPPERS * 2.0)  # the rate of one address

    def _pay(self, merchant: Shopper) -> None:
        while not self._ended.is_set():
            self._count(merchant.post("/v1/payments", payment(WALLET)))
            self._ended.wait(1.0)

    def _count(self, response: httpx.Response) -> None:
        self._answers[answer_of(response)] += 1


def payment(buyer: Any) -> dict[str, Any]:
    """Return the body of a signed payment that is captured at once."""
    terms = ReceiveAuthorization(buyer.address, MERCHANT.address, 500, 0, int(time.time()) + 3_600, random_nonce())
    return {
        "payer": buyer.address,
        "amount": "500",
        "valid_before": terms.valid_before,
        "nonce": "0x" + terms.nonce.hex(),
        "signature": "0x" + terms.sign(DOMAIN, bytes(buyer.key)).hex(),
        "capture": True,
    }


def answer_of(response: httpx.Response) -> str:
    """Return status and error code."""
    code = response.json().get("error", {}).get("code", "") if response.status_code >= 400 else ""
    return f"{response.status_code} {code}".strip()


def pay(url: str, key: str, prefix: str, seconds: float, rate: float) -> tuple[list[float], Counter[str]]:
    """Send honest payments at a rate. Return the time that each takes from its due time, and the answers."""
    times: list[float] = []
    answers: Counter[str] = Counter()
    with Shopper(url, key, prefix) as client:
        begin = time.monotonic()
        for number in range(int(seconds * rate)):
            body, due = payment(HONEST[number % len(HONEST)]), begin + number / rate
            time.sleep(max(0.0, due - time.monotonic()))
            answers[answer_of(client.post("/v1/payments", body))] += 1
            times.append(time.monotonic() - due)
    return times, answers


@contextmanager
def service(more: str) -> Iterator[tuple[str, str]]:
    """Start node and service, and give the wallet its code. Yield URL and API key of the service."""
    command = [foreseal_command(), "dev", "--port", "0", "--payments", "--block-time", "2s", "--step", "200ms"]
    with tempfile.TemporaryDirectory(prefix="foreseal-") as name, ExitStack() as stack:
        folder = Path(name)
        node = stack.enter_context(stopping(LiveNode(command)))
        code = {"jsonrpc": "2.0", "id": 1, "method": "anvil_setCode"}
        params = [WALLET.address, "0x" + endless_wallet().hex()]
        assert "error" not in httpx.post(node.url, json=code | {"params": params}).json()
        config = configure(folder, node.url, f"sqlite:///{folder}/pay.db", more=more + CHECKOUT)
        key = api_key(config)
        yield stack.enter_context(serving(config)).url, key


def main() -> int:
    """Run the periods, and return 0 if the attack harms no honest payment."""
    parser = options("strangers_code")
    parser.add_argument("--periods", type=int, default=3, help="Periods of each kind.")
    parser.add_argument("--seconds", type=float, default=20.0, help="Length of a period.")
    parser.add_argument("--rate", type=float, default=4.0, help="Honest payments per second.")
    parser.add_argument("--margin", type=float, default=0.05, help="Seconds by which p99 may exceed the control's.")
    given = parser.parse_args()
    periods = [Period("control"), Period("attack")]
    times: list[list[float]] = [[], []]
    attacked: Counter[str] = Counter()
    with service("") as (url, key):
        pay(url, key, "warm ", 3.0, given.rate)
        for number in range(given.periods):
            for kind, period in enumerate(periods):
                with ExitStack() as stack:
                    if kind:
                        stack.enter_context(Attack(url, key, attacked, number))
                    durations, answers = pay(url, key, f"{period.name} {number} ", given.seconds, given.rate)
                times[kind] += durations
                period.answers = dict(Counter(period.answers) + answers)
                time.sleep(3.0)  # transactions and pauses of the period before
        metrics = httpx.get(f"{url}/metrics", headers={"authorization": f"Bearer {key}"}, timeout=60).text
    for period, taken in zip(periods, times, strict=True):
        period.payments = len(taken)
        period.p50, period.p99, period.slowest = quantile(taken, 0.5), quantile(taken, 0.99), max(taken)
    control, attack = periods
    attack.attack_answers = dict(attacked)
    faults = [f"honest payments: {period}" for period in periods if set(period.answers) != {"201"}]
    if attack.p99 > control.p99 + given.margin:
        faults.append(f"p99 is {(attack.p99 - control.p99) * 1000:.0f} ms above the control's")
    if "foreseal_pay_node_breaker_openings_total 0" not in metrics:
        faults.append("the circuit breaker of the node opened")
    for period in periods:
        show(period, [])
    show(f"{len(faults)} faults", faults)
    return conclude(periods, faults, given.save, ("python -m strangers_code", ("httpx",)))


if __name__ == "__main__":
    sys.exit(main())
