//! The read modes of the endpoints: every method in each mode equals a call on the standard endpoint.

use std::{sync::Arc, time::Duration};

use alloy_primitives::{Bytes, U256};
use foreseal_chain::{Clock as _, ReadMode};
use foreseal_state::StateReader as _;
use foreseal_testkit::{Contract, Fees, TransactionKinds, Wallet, Workload};
use serde_json::{Value, json};

use super::{Bench, block_calls, raw_params, streams::Streams};
use crate::{errors::rpc_error::RpcError, request::api::Api, streams::wait::Reply};

const NULL: Value = Value::Null;

/// Returns a transaction with one log.
fn logging(wallet: &Wallet, nonce: u64) -> Bytes {
    let (target, input) = (Contract::Logger.address().into(), Bytes::from(vec![0; 32]));
    wallet.eip1559(nonce, target, U256::ZERO, 150_000, input, Fees::default())
}

struct Modes {
    sealed: Api,
    preconfirmed: Api,
}

impl Modes {
    fn new(bench: &Bench) -> Self {
        let [sealed, preconfirmed] =
            [ReadMode::Sealed, ReadMode::Preconfirmed].map(|mode| bench.api.in_mode(mode));
        Self { sealed, preconfirmed }
    }
}

fn try_call(bench: &Bench, api: &Api, method: &str, params: &Value) -> Result<Value, RpcError> {
    let answer = api.call(Some(&bench.view()), method, params.to_string().as_bytes())?;
    Ok(serde_json::from_slice(&answer).unwrap())
}

fn call(bench: &Bench, api: &Api, method: &str, params: &Value) -> Value {
    try_call(bench, api, method, params).unwrap_or_else(|error| panic!("{method} {params}: {error:?}"))
}

/// Returns a bench whose open block has several steps with transactions, and an empty pool.
fn bench_with_open_block(seed: u64) -> Bench {
    let mut bench = Bench::new(4);
    let mut workload = Workload::new(bench.wallets.clone(), TransactionKinds::WithoutBlobs, seed);
    for _ in 0..2 {
        for _ in 0..8 {
            bench.submit(&workload.next_transaction());
        }
        bench.seal();
    }
    for _ in 0..2 {
        for _ in 0..8 {
            bench.submit(&workload.next_transaction());
        }
        bench.tick();
    }
    assert!(bench.view().pending().block.transactions.len() > 4);
    bench
}

/// Returns the calls about the open block that can name it by a tag.
fn queries(bench: &Bench) -> Vec<(&'static str, String)> {
    let wallets = bench.wallets.iter().take(2).map(|wallet| wallet.address);
    let addresses: Vec<_> = wallets.chain(Contract::ALL.map(Contract::address)).collect();
    let mut queries = block_calls::about(&bench.view().pending().block, &addresses);
    queries.push(("eth_call", format!("[{{\"to\":\"{}\"}},TAG]", Contract::ALL[0].address())));
    // At `pending`, its result has the transactions of the pool as well.
    queries.retain(|(name, params)| params.contains(block_calls::TAG) && *name != "eth_getTransactionCount");
    queries
}

fn answer(bench: &Bench, api: &Api, (method, params): &(&str, String), block: &str) -> String {
    let params = params.replace(block_calls::TAG, &format!("\"{block}\""));
    match api.call(Some(&bench.view()), method, params.as_bytes()) {
        Ok(json) => String::from_utf8(json.into()).unwrap(),
        Err(error) => format!("{error:?}"),
    }
}

#[test]
fn latest_of_preconfirmed_is_the_newest_step_in_every_method() {
    for seed in 0..4 {
        let bench = bench_with_open_block(seed);
        let modes = Modes::new(&bench);
        let number = bench.view().pending().number();
        let mut compared = 0;
        for query in queries(&bench) {
            let want = answer(&bench, &bench.api, &query, "pending");
            for block in ["latest", "pending", &format!("{number:#x}")] {
                let preconfirmed = answer(&bench, &modes.preconfirmed, &query, block);
                assert_eq!(preconfirmed, want, "{query:?} at {block}");
                compared += 1;
            }
            let (next, beyond) = (format!("{:#x}", number + 1), format!("{:#x}", number + 2));
            let beyond = answer(&bench, &bench.api, &query, &beyond).replace(&beyond, &next);
            assert_eq!(answer(&bench, &modes.preconfirmed, &query, &next), beyond, "{query:?}");
        }
        assert!(compared > 40, "{compared}");
        for wallet in &bench.wallets {
            let account = bench.view().pending().state.account(&wallet.address).unwrap().unwrap();
            let nonce = json!(format!("{:#x}", account.nonce));
            let count = |block| {
                call(&bench, &modes.preconfirmed, "eth_getTransactionCount", &json!([wallet.address, block]))
            };
            assert_eq!(count("latest"), nonce);
        }
    }
}

#[test]
fn sealed_resolves_names_like_the_standard_endpoint() {
    let bench = bench_with_open_block(7);
    let modes = Modes::new(&bench);
    let latest = format!("{:#x}", bench.view().latest().number());
    for query in queries(&bench) {
        for block in ["earliest", "finalized", "safe", "latest", "pending", &latest] {
            let want = answer(&bench, &bench.api, &query, block);
            assert_eq!(answer(&bench, &modes.sealed, &query, block), want, "{query:?} at {block}");
        }
    }
}

#[test]
fn the_height_of_the_chain_is_sealed_in_every_mode() {
    let bench = bench_with_open_block(2);
    let modes = Modes::new(&bench);
    let height = format!("{:#x}", bench.view().latest().number());
    for api in [&bench.api, &modes.sealed, &modes.preconfirmed] {
        assert_eq!(call(&bench, api, "eth_blockNumber", &json!([])), json!(height));
    }
}

#[test]
fn sealed_shows_an_open_transaction_as_pooled_until_its_block_is_sealed() {
    let mut bench = Bench::new(1);
    let raw = logging(&bench.wallets[0], 0);
    let hash = bench.submit(&raw);
    let pooled = bench.call("eth_getTransactionByHash", &json!([hash]).to_string());
    bench.tick();
    let modes = Modes::new(&bench);
    let step = bench.call("eth_getBlockByNumber", r#"["pending",false]"#)["hash"].clone();
    let sealed = |bench: &Bench, method, params: &Value| call(bench, &modes.sealed, method, params);
    assert_eq!(sealed(&bench, "eth_getTransactionByHash", &json!([hash])), pooled);
    assert_eq!(sealed(&bench, "eth_getRawTransactionByHash", &json!([hash])), json!(raw));
    assert_eq!(sealed(&bench, "eth_getTransactionReceipt", &json!([hash])), NULL);
    assert_eq!(sealed(&bench, "eth_getBlockByHash", &json!([step, false])), NULL);
    assert_eq!(sealed(&bench, "eth_getBlockByNumber", &json!(["0x1", false])), NULL);
    assert_eq!(sealed(&bench, "eth_getBlockReceipts", &json!([step])), NULL);
    let trace = try_call(&bench, &modes.sealed, "debug_traceTransaction", &json!([hash])).unwrap_err();
    assert_eq!(trace.message, "transaction not found");
    let at_step = json!([bench.wallets[0].address, {"blockHash": step}]);
    let error = try_call(&bench, &modes.sealed, "eth_getBalance", &at_step).unwrap_err();
    assert_eq!(error.code, -32001);
    let logs = try_call(&bench, &modes.sealed, "eth_getLogs", &json!([{"blockHash": step}])).unwrap_err();
    assert_eq!(logs.code, -32001);
    // Methods about steps are the same on every endpoint.
    let status = json!({"status": "preconfirmed", "blockNumber": "0x1", "flashblockIndex": "0x1"});
    assert_eq!(sealed(&bench, "foreseal_transactionStatus", &json!([hash])), status);
    assert_ne!(call(&bench, &modes.preconfirmed, "eth_getTransactionReceipt", &json!([hash])), NULL);

    bench.submit(&logging(&bench.wallets[0], 1));
    bench.seal();
    let receipt = bench.call("eth_getTransactionReceipt", &json!([hash]).to_string());
    assert_eq!(sealed(&bench, "eth_getTransactionReceipt", &json!([hash])), receipt);
    assert_eq!(sealed(&bench, "eth_getBlockByHash", &json!([step, false])), NULL, "a step of a sealed block");
    assert_ne!(bench.call("eth_getBlockByHash", &json!([step, false]).to_string()), NULL);
}

#[test]
fn a_filter_keeps_the_mode_in_which_it_was_created() {
    let mut bench = Bench::new(1);
    let modes = Modes::new(&bench);
    let apis = [&bench.api, &modes.sealed, &modes.preconfirmed];
    let ids = apis.map(|api| call(&bench, api, "eth_newFilter", &json!([{"fromBlock": "0x0"}])));
    let log = logging(&bench.wallets[0], 0);
    bench.submit(&log);
    bench.tick();
    let apis = [&bench.api, &modes.sealed, &modes.preconfirmed];
    let count = |method: &str, id: &Value, api: &Api| {
        call(&bench, api, method, &json!([id])).as_array().unwrap().len()
    };
    // Polled on another endpoint than the one of its creation.
    assert!(count("eth_getFilterLogs", &ids[2], apis[0]) > 0);
    assert!(count("eth_getFilterChanges", &ids[2], apis[1]) > 0);
    assert_eq!(count("eth_getFilterChanges", &ids[2], apis[2]), 0, "each log once");
    assert_eq!(count("eth_getFilterLogs", &ids[0], apis[2]), 0);
    assert_eq!(count("eth_getFilterChanges", &ids[0], apis[2]), 0);
    assert_eq!(count("eth_getFilterChanges", &ids[1], apis[2]), 0);
    bench.seal();
    let count =
        |id: &Value| bench.call("eth_getFilterChanges", &json!([id]).to_string()).as_array().unwrap().len();
    assert_eq!(count(&ids[2]), 0, "a seal repeats no log");
    assert!(count(&ids[0]) > 0 && count(&ids[1]) > 0);
}

#[test]
fn logs_of_preconfirmed_are_delivered_once_at_their_step() {
    let mut bench = Bench::new(1);
    let mut streams = Streams::new(&bench);
    let [standard, sealed, preconfirmed] = [ReadMode::Standard, ReadMode::Sealed, ReadMode::Preconfirmed]
        .map(|mode| streams.subscribe_in(&json!(["logs", {}]), mode).unwrap().expect("logs have no cursor"));
    bench.submit(&logging(&bench.wallets[0], 0));
    bench.tick();
    streams.deliver_all();
    let at_step = streams.messages(&preconfirmed);
    assert!(!at_step.is_empty());
    assert!(streams.messages(&standard).is_empty() && streams.messages(&sealed).is_empty());
    bench.seal();
    streams.deliver_all();
    assert_eq!(streams.messages(&preconfirmed), at_step, "a seal repeats no log");
    assert_eq!(streams.messages(&standard).len(), at_step.len());
    assert_eq!(streams.messages(&sealed), streams.messages(&standard));
}

#[test]
fn a_synchronous_submission_to_sealed_waits_for_the_seal() {
    let mut bench = Bench::new(1);
    let api = Modes::new(&bench).sealed;
    let method = crate::method("eth_sendRawTransactionSync").unwrap();
    let raw = logging(&bench.wallets[0], 0);
    let begun = api.begin(Some(&bench.view()), method, raw_params(&raw).as_bytes()).unwrap();
    let Reply::Later(wait) = begun else { panic!("{begun:?}") };
    bench.tick();
    assert!(api.poll(method, &wait).unwrap().is_none(), "pre-confirmed only");
    assert_eq!(wait.deadline(), bench.clock.now().monotonic + Duration::from_millis(6_000 - 200));
    bench.seal();
    let receipt: Value = serde_json::from_slice(&api.poll(method, &wait).unwrap().unwrap()).unwrap();
    assert_eq!(
        receipt,
        bench.call("eth_getTransactionReceipt", &json!([receipt["transactionHash"]]).to_string())
    );
}

/// Code that reads three slots.
const READS: &str = "0x60005450600154506002545000";

#[test]
fn an_estimate_without_a_block_is_the_higher_one_of_latest_and_pending() {
    let mut bench = Bench::developing(2);
    let modes = Modes::new(&bench);
    let target = "0x00000000000000000000000000000000000000d1";
    let from = bench.wallets[0].address;
    let transaction = json!({"from": from, "to": target});
    let gas = |bench: &Bench, api: &Api, params: Value| call(bench, api, "eth_estimateGas", &params);
    let [latest, empty] =
        [json!([transaction, "latest"]), json!([transaction])].map(|params| gas(&bench, &bench.api, params));
    assert_eq!(latest, empty);
    // Deployed in the open block: only `pending` has the code.
    call(&bench, &bench.api, "anvil_setCode", &json!([target, READS]));
    bench.tick();
    let sealed = gas(&bench, &bench.api, json!([transaction, "latest"]));
    let pending = gas(&bench, &bench.api, json!([transaction, "pending"]));
    assert_eq!(sealed, latest);
    assert!(pending.as_str() > sealed.as_str(), "{pending} {sealed}");
    assert_eq!(gas(&bench, &bench.api, json!([transaction])), pending);
    assert_eq!(gas(&bench, &bench.api, json!([transaction, null])), pending);
    assert_eq!(gas(&bench, &modes.sealed, json!([transaction])), sealed);
    assert_eq!(gas(&bench, &modes.preconfirmed, json!([transaction])), pending);
}

#[test]
fn a_view_is_converted_once_for_each_mode() {
    let bench = bench_with_open_block(1);
    let view = bench.view();
    for mode in [ReadMode::Standard, ReadMode::Sealed, ReadMode::Preconfirmed] {
        let converted = view.in_mode(mode);
        assert_eq!(converted.mode(), mode);
        assert!(Arc::ptr_eq(&converted, &view.in_mode(mode)));
        assert_eq!(converted.in_mode(ReadMode::Standard).mode(), ReadMode::Standard);
    }
}
