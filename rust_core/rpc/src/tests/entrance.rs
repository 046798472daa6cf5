//! The entrance: its responses are those of single calls, and each call runs once.

use std::cell::Cell;
use std::{sync::Arc, time::Duration};

use foreseal_testkit::Contract;
use parking_lot::Mutex;
use serde_json::{Value, json};

use super::Bench;
use crate::{
    errors::rpc_error::RpcError,
    methods::method::Method,
    request::{
        call_counts::{CountedCalls, FailedCalls},
        call_runner::Costs,
        caller_budget::{CallerBudget, Refusal},
        entrance::{Entered, Entrance, EntranceLimits, RequestCaller},
        envelope::general::BodyLimits,
        pending_body::{Lanes, PendingBody, Progress},
        submissions::Submissions,
    },
};

const BODY: BodyLimits = BodyLimits { values: 1000, depth: 16, batch: 10 };
const LIMITS: EntranceLimits =
    EntranceLimits { response: 100_000, body: BODY, parsed: 10_000, quick: Duration::from_mins(1) };

fn entrance(bench: &Bench, limits: EntranceLimits) -> Arc<Entrance> {
    let api = Arc::new(bench.api.with_limits(crate::Limits::default()));
    Arc::new(Entrance::new(Some(api), limits, &Costs::default()))
}

fn enter<'a>(path: &Arc<Entrance>, bench: &Bench, body: &'a str, caller: &RequestCaller<'_>) -> Entered<'a> {
    path.respond(Some(&bench.view()), body.as_bytes(), caller, false)
}

/// Returns the response as JSON; `None` if calls are left.
fn response(path: &Arc<Entrance>, bench: &Bench, body: &Value) -> Option<Value> {
    let body = body.to_string();
    let Entered::Answered(reply) = enter(path, bench, &body, &RequestCaller::default()) else { return None };
    assert!(reply.slow.is_empty());
    Some(serde_json::from_slice(&reply.json.segments().concat()).unwrap())
}

/// Returns the response after retries, because a busy machine may be too slow to answer at once.
fn eventually(path: &Arc<Entrance>, bench: &Bench, body: &Value) -> Value {
    (0..100_000).find_map(|_| response(path, bench, body)).expect("it responds")
}

fn call(method: &str, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params})
}

/// Returns the response to a single call.
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
        let path = entrance(&bench, LIMITS);
        let answer = eventually(&path, &bench, &call(method, &params));
        assert_eq!(answer, expected(&bench, method, &params));
        assert_eq!(answer["error"]["code"], code);
        let name = if code == -32601 { "" } else { method };
        let counted: Vec<(&str, u64)> =
            path.drain_calls().iter().map(|CountedCalls { method, calls, .. }| (*method, *calls)).collect();
        assert_eq!(counted, [(name, 1)]);
        let failed = path.drain_failed_calls();
        assert!(matches!(failed[..], [FailedCalls { method, code: failed_code, calls: 1 }]
            if method == name && failed_code == code));
        assert_eq!((path.drain_calls().len(), path.drain_failed_calls().len()), (0, 0));
    }
}

#[test]
fn errors_in_a_batch_are_entries_of_it() {
    let bench = Bench::new(1);
    let path = entrance(&bench, LIMITS);
    let calls: Vec<Value> = failing().iter().map(|(method, params, _)| call(method, params)).collect();
    let wanted: Vec<Value> =
        failing().iter().map(|(method, params, _)| expected(&bench, method, params)).collect();
    assert_eq!(eventually(&path, &bench, &Value::Array(calls)), Value::Array(wanted));
    assert_eq!(path.drain_failed_calls().iter().map(|failed| failed.calls).sum::<u64>(), 5);
}

#[test]
fn after_the_batch_allowance_later_calls_do_not_run() {
    let bench = Bench::new(1);
    let path = entrance(&bench, EntranceLimits { response: 20, ..LIMITS });
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

/// Returns a body of which calls are left.
fn pending(
    path: &Arc<Entrance>,
    bench: &Bench,
    body: &Value,
    caller: &RequestCaller<'_>,
) -> Arc<PendingBody> {
    let body = body.to_string();
    match enter(path, bench, &body, caller) {
        Entered::Pending(pending) => pending,
        Entered::Answered(reply) => panic!("{:?}", reply.json),
        Entered::Large => panic!("it is small"),
    }
}

fn reply(body: &PendingBody) -> Value {
    serde_json::from_slice(&body.take_reply(None).json.segments().concat()).unwrap()
}

#[test]
fn python_runs_its_methods() {
    let bench = Bench::new(1);
    let path = entrance(&bench, LIMITS);
    path.exclude("eth_chainId");
    path.exclude("mine");
    let none = RequestCaller::default();
    for method in ["eth_chainId", "mine"] {
        let body = pending(&path, &bench, &call(method, &json!([5])), &none);
        assert_eq!(body.proceed(&TestLanes::default(), None), Progress::Call(0));
        assert_eq!(body.request(0), Some((method, "[5]")));
        assert_eq!(body.answer(0, Ok("true".into()), None), (None, None));
        assert_eq!(body.proceed(&TestLanes::default(), None), Progress::Answered);
        assert_eq!(reply(&body), json!({"jsonrpc": "2.0", "id": 7, "result": true}));
    }
}

#[test]
fn a_body_with_a_syntax_error_in_parameters_is_rejected_as_a_whole() {
    let bench = Bench::new(1);
    let path = entrance(&bench, LIMITS);
    let good = call("eth_simulateV1", &json!([])).to_string();
    for params in ["[}", "[1,]", "[nope]"] {
        for method in ["no_such", "eth_getBalance", "eth_simulateV1", "eth_sendRawTransaction"] {
            let bad = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#);
            for body in [bad.clone(), format!("[{good},{bad}]")] {
                let Entered::Answered(reply) = enter(&path, &bench, &body, &RequestCaller::default()) else {
                    panic!("{body}")
                };
                let answer: Value = serde_json::from_slice(&reply.json.segments().concat()).unwrap();
                assert_eq!(
                    (&answer["id"], &answer["error"]["code"]),
                    (&json!(null), &json!(-32700)),
                    "{body}"
                );
            }
        }
    }
}

/// Lanes that hold calls until the test ends them.
#[derive(Default)]
struct TestLanes {
    started: Mutex<Vec<(usize, &'static str)>>,
    submitted: Cell<usize>,
    is_full: bool,
    /// Calls that may still start; `None`: any number.
    left: Cell<Option<usize>>,
}

impl TestLanes {
    /// Lets `room` more calls start.
    fn with_room(&self, room: usize) -> &Self {
        self.left.set(Some(room));
        self
    }
}

impl Lanes for TestLanes {
    fn room(&self) -> usize {
        self.left.get().unwrap_or(100)
    }

    fn start(
        &self,
        _: &Arc<PendingBody>,
        index: usize,
        method: &'static Method,
        _: &str,
    ) -> Result<(), RpcError> {
        if self.is_full {
            return Err(RpcError::queue_full(3));
        }
        self.left.set(self.left.get().map(|left| left - 1));
        self.started.lock().push((index, method.name));
        Ok(())
    }

    fn submit(&self, _: &Arc<PendingBody>, _: Submissions) -> bool {
        self.submitted.set(self.submitted.get() + 1);
        !self.is_full
    }
}

#[test]
fn calls_of_a_batch_in_lanes_are_answered_in_order() {
    let bench = Bench::new(1);
    let path = entrance(&bench, LIMITS);
    let (long, short) = (call("eth_simulateV1", &json!([])), call("eth_chainId", &json!([])));
    let body = pending(&path, &bench, &json!([short, long, short, long]), &RequestCaller::default());
    let lanes = TestLanes::default();
    assert_eq!(body.proceed(lanes.with_room(9), None), Progress::Waiting);
    assert_eq!(*lanes.started.lock(), [(1, "eth_simulateV1"), (3, "eth_simulateV1")]);
    assert_eq!(body.finish(3, Ok("3".into())), None, "another call is in progress");
    assert!(body.finish(1, Ok("1".into())).is_some());
    assert_eq!(body.proceed(lanes.with_room(9), None), Progress::Answered);
    let answers = reply(&body);
    let results: Vec<_> = (0..4).map(|at| answers[at]["result"].clone()).collect();
    assert_eq!(results, [json!("0x7a69"), json!(1), json!("0x7a69"), json!(3)]);
}

#[test]
fn a_batch_starts_as_many_calls_as_there_is_room() {
    let bench = Bench::new(1);
    let path = entrance(&bench, LIMITS);
    let long = call("eth_simulateV1", &json!([]));
    let short = call("eth_chainId", &json!([]));
    let body = pending(&path, &bench, &json!([long, short, long, long]), &RequestCaller::default());
    let lanes = TestLanes::default();
    assert_eq!(
        body.proceed(lanes.with_room(0), None),
        Progress::Call(0),
        "the caller is told why there is none"
    );
    body.answer(0, Ok("0".into()), None);
    assert_eq!(body.proceed(lanes.with_room(1), None), Progress::Waiting);
    assert_eq!(*lanes.started.lock(), [(2, "eth_simulateV1")], "a short call needs no room");
    assert!(body.finish(2, Ok("2".into())).is_some());
    let full = TestLanes { is_full: true, ..TestLanes::default() };
    assert_eq!(body.proceed(full.with_room(1), None), Progress::Answered);
    assert_eq!(reply(&body)[3]["error"]["data"]["limit"], "queue");
}

#[test]
fn a_large_batch_has_few_calls_in_lanes_at_a_time() {
    let bench = Bench::new(1);
    let limits = EntranceLimits { body: BodyLimits { batch: 100, ..BODY }, ..LIMITS };
    let path = entrance(&bench, limits);
    let body = pending(
        &path,
        &bench,
        &Value::from(vec![call("eth_simulateV1", &json!([])); 50]),
        &RequestCaller::default(),
    );
    let lanes = TestLanes::default();
    assert_eq!(body.proceed(lanes.with_room(99), None), Progress::Waiting);
    assert_eq!(lanes.started.lock().len(), 32);
    assert!(body.finish(0, Ok("0".into())).is_some(), "there is room for another");
    assert_eq!(body.proceed(lanes.with_room(99), None), Progress::Waiting);
    assert_eq!(lanes.started.lock().len(), 33);
}

#[test]
fn answers_of_a_cancelled_body_are_neither_kept_nor_counted() {
    let bench = Bench::new(1);
    let path = entrance(&bench, EntranceLimits { quick: Duration::ZERO, ..LIMITS });
    let body = pending(&path, &bench, &call("eth_simulateV1", &json!([])), &RequestCaller::default());
    assert_eq!(body.proceed(&TestLanes::default(), None), Progress::Waiting);
    body.cancel();
    assert_eq!(body.finish(0, Err(RpcError::stopping())).map(|wake| wake.size), Some(0));
    assert!(body.take_reply(None).json.is_empty());
    assert_eq!(path.drain_failed_calls(), []);
}

#[test]
fn a_body_of_submissions_is_one_unit() {
    let bench = Bench::new(1);
    let path = entrance(&bench, LIMITS);
    let send = call("eth_sendRawTransaction", &json!(["0x05c0"]));
    for (body, units, single) in [
        (json!(send), 1, 0),
        (json!([send, send]), 1, 0),
        (json!([send, call("eth_simulateV1", &json!([]))]), 0, 2),
    ] {
        let lanes = TestLanes::default();
        let body = pending(&path, &bench, &body, &RequestCaller::default());
        assert_eq!(body.proceed(lanes.with_room(9), None), Progress::Waiting);
        assert!(body.is_started());
        assert_eq!((lanes.submitted.get(), lanes.started.lock().len()), (units, single));
    }
}

/// Budget of `tokens`; charged processor time is counted.
struct Tokens {
    left: Cell<u64>,
    charged: Cell<Duration>,
}

impl Tokens {
    fn new(tokens: u64) -> Self {
        Self { left: Cell::new(tokens), charged: Cell::new(Duration::ZERO) }
    }
}

const RATE: Refusal = Refusal::Rate { retry_after: Duration::from_secs(2) };

impl CallerBudget for Tokens {
    fn refusal(&self) -> Option<Refusal> {
        (self.left.get() == 0).then_some(RATE)
    }

    fn charge(&self, tokens: u64) -> Result<(), Refusal> {
        if self.charge_all(tokens) { Ok(()) } else { Err(RATE) }
    }

    fn charge_all(&self, tokens: u64) -> bool {
        let is_within = tokens <= self.left.get();
        if is_within {
            self.left.set(self.left.get() - tokens);
        }
        is_within
    }

    fn charge_cpu(&self, used: Duration) {
        self.charged.set(self.charged.get() + used);
    }
}

fn limited(tokens: &Tokens) -> RequestCaller<'_> {
    RequestCaller { budget: Some(tokens), is_connection: false }
}

#[test]
fn a_body_is_charged_by_the_cost_of_its_calls() {
    let bench = Bench::new(1);
    let costs = Costs::from([("eth_gasPrice".to_owned(), 3)]);
    let api = Arc::new(bench.api.with_limits(crate::Limits::default()));
    let path = Arc::new(Entrance::new(Some(api), LIMITS, &costs));
    let (cheap, costly, unknown) =
        (call("eth_chainId", &json!([])), call("eth_gasPrice", &json!([])), call("no_such", &json!([])));
    let tokens = Tokens::new(20);
    for (body, left) in [(&cheap, 19), (&costly, 16), (&unknown, 15), (&json!([cheap, costly, unknown]), 10)]
    {
        assert!(matches!(enter(&path, &bench, &body.to_string(), &limited(&tokens)), Entered::Answered(_)));
        assert_eq!(tokens.left.get(), left);
    }
    assert!(tokens.charged.get() > Duration::ZERO);
}

#[test]
fn a_call_in_a_lane_is_charged_once() {
    let bench = Bench::new(1);
    let path = entrance(&bench, LIMITS);
    let tokens = Tokens::new(5);
    let body = pending(&path, &bench, &call("eth_simulateV1", &json!([])), &limited(&tokens));
    assert_eq!(tokens.left.get(), 4);
    assert_eq!(body.proceed(&TestLanes::default(), Some(&tokens)), Progress::Waiting);
    assert_eq!(tokens.left.get(), 4);
}

#[test]
fn calls_beyond_the_budget_are_refused_one_by_one() {
    let bench = Bench::new(1);
    let path = entrance(&bench, LIMITS);
    let one = call("eth_chainId", &json!([]));
    let tokens = Tokens::new(1);
    let body = pending(&path, &bench, &json!([one, one]), &limited(&tokens));
    assert_eq!(body.proceed(&TestLanes::default(), Some(&tokens)), Progress::Refused(1, RATE));
    body.answer(1, Err(RpcError::queue_full(1)), None);
    assert_eq!(body.proceed(&TestLanes::default(), Some(&tokens)), Progress::Answered);
    assert_eq!(reply(&body)[0]["result"], "0x7a69");
    // Without any token a batch is refused as a whole, and so is a call, before anything runs.
    for body in [&json!([one, one]), &one] {
        let body = pending(&path, &bench, body, &limited(&tokens));
        assert!(!body.is_batch());
        assert_eq!(body.proceed(&TestLanes::default(), Some(&tokens)), Progress::Refused(0, RATE));
    }
    let connection = RequestCaller { is_connection: true, ..limited(&tokens) };
    assert!(pending(&path, &bench, &json!([one, one]), &connection).is_batch());
    let counted: u64 = path.drain_calls().iter().map(|counted| counted.calls).sum();
    assert_eq!(counted, 1);
}
