//! The fast path: its responses are those of the slow path, and each call runs once.

use std::{sync::Arc, time::Duration};

use foreseal_testkit::Contract;
use serde_json::{Value, json};

use super::Bench;
use crate::{CountedCalls, FailedCalls, FastPath, FastPathLimits};

const LIMITS: FastPathLimits =
    FastPathLimits { response: 100_000, depth: 16, batch: 10, quick: Duration::from_mins(1) };

fn fast_path(bench: &Bench, limits: FastPathLimits) -> FastPath {
    FastPath::new(Arc::new(bench.api.with_limits(crate::Limits::default())), limits)
}

/// Returns the response of the fast path as JSON; `None` if the body must take the slow path.
fn response(path: &FastPath, bench: &Bench, body: &Value) -> Option<Value> {
    let (view, body) = (bench.view(), body.to_string());
    let response = path.respond(Some(&view), &path.parse(body.as_bytes())?)?;
    assert!(response.slow.is_empty());
    Some(serde_json::from_slice(&response.segments().concat()).unwrap())
}

/// Returns the response after retries, because a busy machine may be too slow for the fast path.
fn eventually(path: &FastPath, bench: &Bench, body: &Value) -> Value {
    (0..100_000).find_map(|_| response(path, bench, body)).expect("the fast path responds")
}

fn call(method: &str, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params})
}

/// Returns the response to a call that the slow path gives.
fn expected(bench: &Bench, method: &str, params: &Value) -> Value {
    let outcome = bench.api.call(Some(&bench.view()), method, params.to_string().as_bytes());
    let Err(error) = outcome else {
        let result: Value = serde_json::from_slice(&outcome.unwrap()).unwrap();
        return json!({"jsonrpc": "2.0", "id": 7, "result": result});
    };
    let mut object = json!({"code": error.code, "message": error.message});
    if let Some(data) = error.data {
        object["data"] = serde_json::from_slice(&data).unwrap();
    }
    json!({"jsonrpc": "2.0", "id": 7, "error": object})
}

fn failing() -> [(&'static str, Value, i64); 5] {
    let reverting = json!([{"to": Contract::Reverter.address()}, "pending"]);
    [
        ("eth_call", reverting.clone(), 3),
        ("eth_estimateGas", reverting, -32000),
        ("eth_getBalance", json!(["0x12", "latest"]), -32602),
        ("eth_getBalance", json!([Contract::Reverter.address(), "0x3e8"]), -32001),
        ("no_such", json!([1, {"a": []}]), -32601),
    ]
}

#[test]
fn an_error_is_returned_and_counted_by_its_first_run() {
    let bench = Bench::new(1);
    for (method, params, code) in failing() {
        let path = fast_path(&bench, LIMITS);
        let answer = eventually(&path, &bench, &call(method, &params));
        assert_eq!(answer, expected(&bench, method, &params));
        assert_eq!(answer["error"]["code"], code);
        let name = if code == -32601 { "" } else { method };
        let counted: Vec<(&str, u64)> =
            path.drain_calls().iter().map(|CountedCalls { method, calls, .. }| (*method, *calls)).collect();
        assert_eq!(counted, [(name, 1)]);
        let failed = path.drain_failed_calls();
        assert!(matches!(failed[..], [FailedCalls { method, code: found, calls: 1 }]
            if method == name && found == code));
        assert_eq!((path.drain_calls().len(), path.drain_failed_calls().len()), (0, 0));
    }
}

#[test]
fn errors_in_a_batch_are_entries_of_it() {
    let bench = Bench::new(1);
    let path = fast_path(&bench, LIMITS);
    let calls: Vec<Value> = failing().iter().map(|(method, params, _)| call(method, params)).collect();
    let wanted: Vec<Value> =
        failing().iter().map(|(method, params, _)| expected(&bench, method, params)).collect();
    assert_eq!(eventually(&path, &bench, &Value::Array(calls)), Value::Array(wanted));
    assert_eq!(path.drain_failed_calls().iter().map(|failed| failed.calls).sum::<u64>(), 5);
}

#[test]
fn after_the_batch_allowance_later_calls_do_not_run() {
    let bench = Bench::new(1);
    let path = fast_path(&bench, FastPathLimits { response: 20, ..LIMITS });
    let modules = call("eth_chainId", &json!([]));
    let large = call("web3_clientVersion", &json!([]));
    let answer = eventually(&path, &bench, &json!([modules, large, modules, call("no_such", &json!([]))]));
    assert!(answer[0].get("result").is_some());
    for at in 1..4 {
        assert_eq!(answer[at]["error"]["data"], json!({"limit": "response", "max": 20}));
    }
    let mut failed = path.drain_failed_calls();
    failed.sort_by_key(|failed| failed.method);
    let failed: Vec<_> = failed.iter().map(|failed| (failed.method, failed.code, failed.calls)).collect();
    assert_eq!(failed, [("", -32005, 2), ("web3_clientVersion", -32005, 1)]);
    let alone = response(&path, &bench, &large).unwrap();
    assert_eq!(alone["error"]["message"], "the response is larger than 20 bytes");
}

#[test]
fn python_methods_and_malformed_params_use_the_slow_path() {
    let bench = Bench::new(1);
    let path = fast_path(&bench, LIMITS);
    path.exclude("eth_chainId");
    path.exclude("mine");
    assert_eq!(response(&path, &bench, &call("eth_chainId", &json!([]))), None);
    assert_eq!(response(&path, &bench, &call("mine", &json!([]))), None);
    assert_eq!(response(&path, &bench, &call("eth_simulateV1", &json!([]))), None);
    for body in [
        r#"{"jsonrpc":"2.0","id":1,"method":"no_such","params":[}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"eth_getBalance","params":[1,]}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"eth_call","params":[{"to":"0x","to":"0x"}]}"#,
    ] {
        assert!(
            path.parse(body.as_bytes()).is_none_or(|read| path.respond(Some(&bench.view()), &read).is_none()),
            "{body}"
        );
    }
    assert_eq!(path.drain_failed_calls(), []);
}
