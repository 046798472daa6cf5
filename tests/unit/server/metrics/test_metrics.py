"""`/metrics`: Prometheus parses it, and its names and values are right."""

import logging
import os
import re
import sys
from pathlib import Path

import orjson
import pytest
from prometheus_client import Metric
from prometheus_client.parser import text_string_to_metric_families

import foreseal
from foreseal.rpc.call_metrics import BOUNDS, CallMetrics, CallTimings
from foreseal.server import App, Settings
from foreseal.server.auth.tiers import REFUSAL_REASONS
from foreseal.server.metrics import FAMILIES, join
from foreseal.server.metrics.cluster_families import CLUSTER
from foreseal.server.processes.process_table import ProcessTable, create_process_table
from foreseal.server.settings.model import DEDICATED, PUBLIC, LogSettings

from asgi_client import exchange, until
from fake_core import FakeNode

# The double is a starting node that works alone: the store's contents are unknown, and there are no subscribers.
NOTHING = {
    "foreseal_store_block",
    "foreseal_store_backlog",
    "foreseal_store_share",
    "foreseal_subscriptions",
    "foreseal_store_scrub_bytes_total",
    "foreseal_store_scrub_passes_total",
    "foreseal_store_scrub_damaged_pages",
    "foreseal_store_scrub_unchecked_pages",
    "foreseal_store_scrub_errors_total",
    "foreseal_store_scrub_last_timestamp_seconds",
    *(family.name for family in CLUSTER),
}


TAKEOVER = {"reason": "feed_refused", "epoch": 3, "at": 1_700_000_000_500, "fenceMs": 4, "readyMs": 250}
CLUSTER = {
    "role": "leader",
    "name": "a",
    "epoch": 3,
    "owner": "a",
    "quorum": {
        "ok": False,
        "silentMs": 1500,
        "retainedBytes": 4096,
        "findings": [{"code": "unreachable", "message": "etcd at b:2379 is not usable"}],
    },
    "lastTakeover": TAKEOVER,
    "followers": [
        {"name": "b", "role": "standby", "lag": 2, "connectedMs": 1000},
        {"name": "c", "role": "replica", "lag": 7, "connectedMs": 2500},
        {"name": "d", "role": "replica", "lag": 0, "connectedMs": 0},
    ],
}


def body(method: str) -> dict[str, object]:
    sent = orjson.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": []})
    return {"chunks": [sent], "headers": {"content-length": str(len(sent))}}


def scraped(*methods: str, process: str | None = None, cluster: dict[str, object] | None = None) -> str:
    settings = Settings(datadir=Path("unused"), log=LogSettings(process=process))
    descriptor = create_process_table(["sequencer", "worker-1"])
    table = ProcessTable(descriptor, writable=True)
    os.close(descriptor)
    table.record_heartbeat("sequencer")
    node = FakeNode()
    node.cluster = cluster
    subject = App(settings, make_node=lambda _: node, processes=table)
    *_, answer = exchange(subject, *map(body, methods), {"verb": "GET", "path": "/metrics"})
    return answer.body.decode()


def parsed(text: str) -> dict[str, Metric]:
    """Return the families by the name in the text."""
    families = {}
    for family in text_string_to_metric_families(text):
        families[family.name + ("_total" if family.type == "counter" else "")] = family
    return families


def test_prometheus_parses_every_declared_family() -> None:
    families = parsed(scraped("eth_blockNumber", "slow", "fails", "nothing", cluster=CLUSTER))
    assert {family.name for family in FAMILIES} == set(families)
    for family in FAMILIES:
        read = families[family.name]
        assert (read.type, read.documentation) == (family.kind, family.help)
        assert read.samples or family.name in NOTHING, family.name
        for sample in read.samples:
            assert set(sample.labels) - {"le"} == set(family.labels)


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_a_name_follows_the_conventions(family: object) -> None:
    name, kind = family.name, family.kind  # type: ignore[attr-defined]
    assert re.fullmatch(r"(foreseal|process)_[a-z_]+", name)
    assert (kind == "counter") == name.endswith("_total")
    if kind == "histogram":
        assert name.endswith("_seconds")
    assert family.help.endswith(".")  # type: ignore[attr-defined]
    assert not re.search(r"_(ms|millis|kb|size)\b", name)


def test_histogram_buckets_are_cumulative_and_complete() -> None:
    for family in parsed(scraped("eth_blockNumber", "slow")).values():
        if family.type != "histogram":
            continue
        series: dict[tuple[tuple[str, str], ...], list[float]] = {}
        counts = {}
        for sample in family.samples:
            labels = tuple(sorted((name, value) for name, value in sample.labels.items() if name != "le"))
            if sample.name.endswith("_bucket"):
                series.setdefault(labels, []).append(sample.value)
            elif sample.name.endswith("_count"):
                counts[labels] = sample.value
        for labels, buckets in series.items():
            if family.name != "foreseal_queue_seconds":
                assert len(buckets) == len(BOUNDS) + 1
            assert buckets == sorted(buckets)
            assert buckets[-1] == counts[labels]


def test_calls_are_counted_with_their_times() -> None:
    families = parsed(scraped("eth_blockNumber", "eth_blockNumber", "slow", "fails", "nothing"))
    calls = {(s.labels["method"], s.labels["outcome"]): s.value for s in families["foreseal_calls_total"].samples}
    assert calls == {
        ("eth_blockNumber", "ok"): 2,
        ("slow", "ok"): 1,
        ("fails", "-32000"): 1,
        ("", "-32601"): 1,
    }
    times = families["foreseal_call_seconds"].samples
    counts = {s.labels["method"]: s.value for s in times if s.name.endswith("_count")}
    assert counts == {"eth_blockNumber": 2, "slow": 1, "fails": 1, "": 1}


def test_cluster_metrics_have_role_quorum_and_followers() -> None:
    families = parsed(scraped(cluster=CLUSTER))

    def values(name: str, label: str | None = None) -> dict[str, float]:
        samples = families[f"foreseal_{name}"].samples
        return {sample.labels[label] if label else "": sample.value for sample in samples}

    assert values("cluster_role", "role") == {"leader": 1, "standby": 0, "replica": 0, "worker": 0}
    assert values("cluster_epoch") == {"": 3}
    assert values("quorum_ok") == {"": 0}
    assert values("quorum_silence_seconds") == {"": 1.5}
    assert values("quorum_retained_bytes") == {"": 4096}
    findings = values("quorum_findings", "code")
    assert findings["unreachable"] == 1
    assert sum(findings.values()) == 1
    assert values("followers", "role") == {"standby": 1, "replica": 2, "worker": 0}
    assert values("follower_lag", "follower") == {"b": 2, "c": 7, "d": 0}
    assert values("follower_connected_seconds", "follower") == {"b": 1, "c": 2.5, "d": 0}
    roles = {sample.labels["follower"]: sample.labels["role"] for sample in families["foreseal_follower_lag"].samples}
    assert roles == {"b": "standby", "c": "replica", "d": "replica"}
    assert values("cluster_last_takeover_timestamp_seconds", "reason") == {"feed_refused": 1_700_000_000.5}
    assert values("cluster_last_takeover_ready_seconds", "reason") == {"feed_refused": 0.25}
    assert families["foreseal_quorum_append_seconds"].samples[-1].value == 20


def test_calls_of_a_driver_are_counted_by_method() -> None:
    families = parsed(scraped())
    assert families["foreseal_engine_call_seconds"].samples[-1].labels == {"method": "engine_newPayloadV4"}
    (errors,) = families["foreseal_engine_errors_total"].samples
    assert (errors.labels, errors.value) == ({"method": "engine_newPayloadV4"}, 2)


def test_node_without_cluster_has_no_cluster_samples() -> None:
    for name, family in parsed(scraped()).items():
        if name.startswith(("foreseal_cluster_", "foreseal_quorum_")):
            assert family.samples == [], name


def test_followers_of_a_node_without_cluster_are_workers() -> None:
    families = parsed(scraped())
    (count,) = families["foreseal_followers"].samples
    assert (count.labels, count.value) == ({"role": "worker"}, 1)
    (lag,) = families["foreseal_follower_lag"].samples
    assert (lag.labels, lag.value) == ({"follower": "worker-1", "role": "worker"}, 2)


def test_followers_with_one_name_are_one_series() -> None:
    replica = {"name": "b", "role": "replica", "lag": 1, "connectedMs": 5}
    followers = [replica, {**replica, "lag": 3}, {**replica, "role": "standby"}]
    families = parsed(scraped(cluster={**CLUSTER, "followers": followers}))
    assert len(families["foreseal_follower_lag"].samples) == 2


def test_caches_are_counted() -> None:
    families = parsed(scraped("eth_blockNumber", "eth_blockNumber"))
    entries, misses = (
        {sample.labels["cache"]: sample.value for sample in families[name].samples}
        for name in ("foreseal_cache_entries", "foreseal_cache_misses_total")
    )
    # The calls and the request for the metrics have one head each.
    assert entries == {"addresses": 1, "keys": 0, "wrong_keys": 0, "heads": 1}
    assert misses == entries | {"block_json": 4}
    core = {
        name: {sample.labels["cache"]: sample.value for sample in families[f"foreseal_cache_{name}"].samples}
        for name in ("hits_total", "bytes", "capacity_bytes")
    }
    assert core == {
        "hits_total": {"block_json": 9},
        "bytes": {"block_json": 2048},
        "capacity_bytes": {"block_json": 4096},
    }


def test_metrics_of_several_processes_are_merged() -> None:
    sequencer, worker = scraped("eth_blockNumber", process="sequencer"), scraped("slow", process="worker-1")
    families = parsed(join([sequencer, worker]))
    assert {family.name for family in FAMILIES} == set(families)
    ready = {sample.labels["process"]: sample.value for sample in families["foreseal_ready"].samples}
    assert ready == {"sequencer": 1, "worker-1": 1}
    calls = {(s.labels["process"], s.labels["method"]) for s in families["foreseal_calls_total"].samples}
    assert calls == {("sequencer", "eth_blockNumber"), ("worker-1", "slow")}
    assert join([sequencer]) == sequencer


def test_each_call_is_counted_in_its_bucket() -> None:
    timing = CallTimings()
    timing.quick = 3
    for seconds in (0.0001, 0.0002, 0.3, 10.0, 11.0):
        timing.add(seconds)
    counts = dict(zip((*BOUNDS, None), timing.cumulative(), strict=True))
    assert [counts[bound] for bound in (0.0001, 0.00025, 0.25, 0.5, 10.0, None)] == [4, 5, 5, 6, 7, 8]
    assert timing.calls == 8


def test_refusals_begin_at_zero_for_every_reason() -> None:
    samples = parsed(scraped())["foreseal_refused_total"].samples
    expected = {(tier, reason) for tier in (DEDICATED, PUBLIC) for reason in REFUSAL_REASONS}
    assert {(sample.labels["tier"], sample.labels["reason"]) for sample in samples} == expected
    assert {sample.value for sample in samples} == {0}


def test_reasons_of_refusals_are_those_in_the_sources() -> None:
    package = Path(foreseal.__file__).parent
    texts = [path.read_text() for folder in ("rpc", "server") for path in (package / folder).rglob("*.py")]
    patterns = (
        r'refusals\["(\w+)"\]',
        r'count_refusal\("(\w+)"\)',
        r'_evict\(\w+, "(\w+)"\)',
        r'_counted\(.*, "(\w+)"\)',
    )
    assert {reason for text in texts for each in patterns for reason in re.findall(each, text)} == set(REFUSAL_REASONS)


def test_slow_calls_are_logged_without_params(caplog: pytest.LogCaptureFixture) -> None:
    counts = CallMetrics(slow=0.5)
    with caplog.at_level(logging.WARNING):
        counts.record("eth_call", 0.49, 10, "public")
        counts.record("eth_sendRawTransactionSync", 3.0, 10, "public")
        counts.record("eth_call", 0.75, 66, "public")
    (record,) = caplog.records
    assert (record.message, vars(record)["method"], vars(record)["seconds"], vars(record)["bytes"]) == (
        "slow call",
        "eth_call",
        0.75,
        66,
    )
    assert counts.slow_calls == 1


async def test_failed_report_is_repeated(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setattr(sys.modules[App.__module__], "_REPORT_INTERVAL", 0.01)
    failures = [OSError(24, "Too many open files")]

    class Full(FakeNode):
        def metrics(self) -> bytes:
            if failures:
                raise failures.pop()
            return super().metrics()

    node = Full()
    subject = App(Settings(datadir=Path("unused")), make_node=lambda _: node, role={"follow": "f", "name": "worker-1"})
    await subject.startup()
    await until(lambda: node.log.count("report") == 2)
    await subject.shutdown()
    assert "Too many open files" in caplog.text
