"""A real Prometheus answers every query of the dashboards, from a node and a merchant service under load."""

import json
import math
import urllib.request
from collections.abc import Iterator

import pytest
from prometheus_client.parser import text_string_to_metric_families

from live import DEV_ACCOUNTS, LiveNode, live_node, wait_for
from live.prometheus import Prometheus
from live.sending import Sender
from payments.api.serving import BUYERS, Serving, Shopper, api_key, configure, serving
from promql import metric_names
from repository import ROOT

GRAFANA = ROOT / "deploy" / "grafana"
SECONDS = 60.0
_VARIABLES = {"$__rate_interval": "1m", "$job": ".*", "$instance": ".*"}


@pytest.fixture(scope="module")
def node() -> Iterator[LiveNode]:
    with live_node("--payments", "--block-time", "1s") as node:
        yield node


@pytest.fixture(scope="module")
def service(node: LiveNode, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    """Run a merchant service that has captured a payment."""
    folder = tmp_path_factory.mktemp("pay")
    config = configure(folder, node.url, f"sqlite:///{folder}/pay.db")
    with serving(config) as service, Shopper(service.url, api_key(config)) as shopper:
        shopper.stored("a", 1_000, BUYERS[0])
        shopper.made("/v1/orders/a/capture")
        wait_for(lambda: shopper.status("a").startswith("Used, captured"), SECONDS, "a capture")
        yield service


@pytest.fixture(scope="module")
def prometheus(node: LiveNode, service: Serving, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus]:
    """Run a Prometheus that has scraped both since they had a load."""
    jobs = {"foreseal": [_address(node.url)], "foreseal-pay": [_address(service.url)]}
    with Prometheus(tmp_path_factory.mktemp("prometheus") / "run", jobs) as prometheus:
        sender = Sender(node.rpc, DEV_ACCOUNTS[0])

        def is_loaded() -> bool:
            sender.send()
            node.rpc("eth_getBalance", DEV_ACCOUNTS[0].address, "pending")
            series = prometheus.query("rate(foreseal_transactions_total[1m]) > 0")
            return bool(series) and len(prometheus.query("rate(foreseal_pay_worker_passes_total[1m])")) == 2

        wait_for(is_loaded, SECONDS, "rates")
        yield prometheus


def _address(url: str) -> str:
    return url.removeprefix("http://")


def _expressions(name: str) -> list[str]:
    panels = json.loads((GRAFANA / name).read_text())["panels"]
    expressions = [target["expr"] for panel in panels for target in panel.get("targets", ())]
    for variable, value in _VARIABLES.items():
        expressions = [expression.replace(variable, value) for expression in expressions]
    return expressions


def _series_of(url: str) -> set[str]:
    with urllib.request.urlopen(url + "/metrics") as answer:
        text = answer.read().decode()
    return {sample.name for family in text_string_to_metric_families(text) for sample in family.samples}


@pytest.mark.parametrize("name", ["foreseal-node.json", "foreseal-pay.json"])
def test_each_query_is_answered_with_the_data_that_exists(
    name: str, node: LiveNode, service: Serving, prometheus: Prometheus
) -> None:
    served = _series_of(node.url) | _series_of(service.url)
    expressions = _expressions(name)
    without: list[str] = []
    for expression in expressions:
        # A series that appeared after the last scrape, such as a new method, has no rate yet.
        expected = metric_names(expression) <= served
        series = wait_for(lambda e=expression, x=expected: prometheus.query(e) or not x, SECONDS, expression)  # type: ignore[misc]
        if series is True:
            without.append(expression)
    assert len(without) < len(expressions) / 3, without


def test_load_is_visible_in_the_rates(node: LiveNode, prometheus: Prometheus) -> None:
    sender = Sender(node.rpc, DEV_ACCOUNTS[0])
    latency = "histogram_quantile(0.99, sum by (le) (rate(foreseal_step_seconds_bucket[1m])))"
    for query in (
        *(f"rate({name}[1m])" for name in ("foreseal_transactions_total", "foreseal_gas_total")),
        "rate(foreseal_step_seconds_count[1m])",
        latency,
    ):

        def is_visible(query: str = query) -> bool:
            sender.send()
            series = prometheus.query(query)
            return bool(series) and 0 < float(series[0]["value"][1]) < (SECONDS if query == latency else math.inf)

        wait_for(is_visible, SECONDS, query)
