//! Several processes that serve one chain, and their clients.

use std::{
    collections::BTreeMap,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use alloy_primitives::B256;
use foreseal_journal::RealDisk;
use foreseal_node::{Node, NodeEnvironment, Role, Settings};
use serde_json::{Value, json};

use super::Bench;
use crate::{context::limits::Limits, errors::rpc_error::RpcError, request::api::Api};

/// Starts a process that follows the sequencer of `bench` through the socket `feed`.
pub fn follower(bench: &Bench, settings: &Settings, feed: &Path, name: &str) -> Api {
    let role = Role::Worker { feed: feed.to_owned(), name: name.to_owned() };
    let environment = NodeEnvironment {
        clock: bench.clock.clone(),
        randomness: Box::new(|| B256::ZERO),
        secret: Box::new(|| B256::ZERO),
        disk: Arc::new(RealDisk),
    };
    let node = Node::open(Settings { role, ..settings.clone() }, environment).unwrap();
    node.start();
    Api::new(Arc::new(node), Limits::default(), B256::ZERO)
}

pub fn try_call(api: &Api, method: &str, params: &Value) -> Result<Value, RpcError> {
    let answer = api.call(api.node().view().as_ref(), method, params.to_string().as_bytes())?;
    Ok(serde_json::from_slice(&answer).unwrap())
}

pub fn call(api: &Api, method: &str, params: &Value) -> Value {
    try_call(api, method, params).unwrap()
}

/// Returns the next changes of a filter.
pub fn changes(api: &Api, id: &Value) -> Vec<Value> {
    call(api, "eth_getFilterChanges", &json!([id])).as_array().unwrap().clone()
}

/// During `work`, four clients poll the same two filters through two processes: each log and each arrival
/// reaches exactly one of them.
pub fn read_at_once(bench: &mut Bench, apis: [&Api; 2], work: impl FnOnce(&mut Bench)) {
    let logs = call(apis[0], "eth_newFilter", &json!([{"fromBlock":"0x0"}]));
    let arrivals = call(apis[1], "eth_newPendingTransactionFilter", &json!([]));
    let before = bench.api.node().pool().next_pending_sequence();
    let over = AtomicBool::new(false);
    let read = |api: &Api| {
        let mut received = (Vec::new(), Vec::new());
        loop {
            let last = over.load(Ordering::Acquire);
            received.0.extend(changes(api, &logs));
            received.1.extend(changes(api, &arrivals));
            if last {
                return received;
            }
        }
    };
    let received: Vec<_> = std::thread::scope(|scope| {
        let readers = [0, 0, 1, 1].map(|which: usize| {
            let (api, read) = (apis[which], &read);
            scope.spawn(move || read(api))
        });
        work(bench);
        over.store(true, Ordering::Release);
        readers.into_iter().map(|reader| reader.join().unwrap()).collect()
    });
    let name = |log: &Value| format!("{}/{}", log["blockHash"], log["logIndex"]);
    let mut times = BTreeMap::<String, u32>::new();
    for log in received.iter().flat_map(|(logs, _)| logs) {
        assert_eq!(log["removed"], json!(false));
        *times.entry(name(log)).or_default() += 1;
    }
    let all = call(&bench.api, "eth_getLogs", &json!([{"fromBlock":"0x0"}]));
    assert_eq!(times, all.as_array().unwrap().iter().map(|log| (name(log), 1)).collect());
    let mut arrived: Vec<_> =
        received.iter().flat_map(|(_, arrived)| arrived).map(Value::to_string).collect();
    arrived.sort_unstable();
    let entered = bench.api.node().pool().pending_hashes_since(before, usize::MAX).transactions;
    let mut entered: Vec<_> = entered.iter().map(|hash| json!(hash).to_string()).collect();
    entered.sort_unstable();
    assert_eq!(arrived, entered);
}
