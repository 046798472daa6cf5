//! Metrics of a node, as JSON.

use std::sync::atomic::{AtomicU64, Ordering};

use foreseal_cache::CacheMetrics;
use foreseal_engine::{CallMetrics, EngineMetrics};
use foreseal_node::{BOUNDS, Histogram, NodeMetrics, StepStage};
use foreseal_scheduler::LaneStatus;
use serde_json::{Map, Value, json};

use crate::{lanes::lane_json, memory};

/// Returns the node's metrics.
///
/// `step`, the entries of `parts`, `append` and `commit` are histograms. `parts`, `lanes` and
/// `caches` are keyed by name, and `engine` (null without a driver) by method.
pub fn metrics_json(
    metrics: &NodeMetrics,
    json_caches: &[CacheMetrics],
    lanes: &[LaneStatus],
    engine: Option<&EngineMetrics>,
) -> Value {
    let NodeMetrics { work, pool, store, caches } = metrics;
    let caches: Map<String, Value> = caches.iter().chain(json_caches).map(cache_json).collect();
    let parts: Map<String, Value> =
        StepStage::ALL.iter().map(|part| (part.name().to_owned(), histogram(work.stage(*part)))).collect();
    let dropped: Map<String, Value> =
        pool.dropped().map(|(reason, count)| (reason.to_owned(), count.into())).collect();
    let memory = memory::metrics();
    let lanes: Map<String, Value> =
        lanes.iter().map(|status| (status.lane.name().to_owned(), lane_json(status))).collect();
    json!({
        "engine": engine.map(engine_json),
        "lanes": lanes,
        "caches": caches,
        "bounds": BOUNDS.map(|bound| bound.as_secs_f64()),
        "steps": count(&work.steps),
        "transactions": count(&work.transactions),
        "gas": count(&work.gas),
        "blocks": count(&work.blocks),
        "step": histogram(&work.step),
        "parts": parts,
        "append": histogram(&work.append),
        "quorum_append": histogram(&work.quorum_append),
        "commit": histogram(&work.commit),
        "journal": { "written": count(&work.journal_written), "segments": count(&work.journal_segments) },
        "pool": { "added": pool.added, "replaced": pool.replaced, "dropped": dropped },
        "memory": { "used": memory.used, "free": memory.free, "mapped": memory.mapped, "trims": memory.trims },
        "store": {
            "used": store.used,
            "limit": store.limit,
            "readers": store.readers.0,
            "max_readers": store.readers.1,
        },
    })
}

fn engine_json(engine: &EngineMetrics) -> Value {
    let calls = engine.calls().into_iter().map(|(method, calls)| {
        let CallMetrics { time, errors } = calls;
        (method.to_owned(), json!({ "time": histogram(&time), "errors": errors }))
    });
    Value::Object(calls.collect())
}

fn cache_json(cache: &CacheMetrics) -> (String, Value) {
    let CacheMetrics { name, hits, misses, bytes, capacity } = *cache;
    let value = json!({ "hits": hits, "misses": misses, "bytes": bytes, "capacity": capacity });
    (name.to_owned(), value)
}

fn count(number: &AtomicU64) -> u64 {
    number.load(Ordering::Relaxed)
}

/// Returns the cumulative count up to each bound, then the total count, and the total seconds.
fn histogram(histogram: &Histogram) -> Value {
    json!({ "counts": histogram.cumulative(), "seconds": histogram.total().as_secs_f64() })
}
