//! Traces of the recorded blocks, in which deposits mint, fail and create contracts.

use std::collections::BTreeMap;

use alloy_primitives::U256;
use serde_json::{Value, json};

use super::RecordedChain;

impl RecordedChain {
    /// Traces a block and returns the result of each transaction with its recorded receipt.
    fn traces<'a>(&self, block: &'a Value, config: &Value) -> Vec<(Value, &'a Value)> {
        let params = json!([block["block"]["number"], config]);
        let traces = self.bench.call("debug_traceBlockByNumber", &params.to_string());
        let receipts = block["receipts"].as_array().unwrap();
        let traces = traces.as_array().unwrap();
        assert_eq!(traces.len(), receipts.len());
        traces.iter().map(|trace| trace["result"].clone()).zip(receipts).collect()
    }
}

#[test]
fn traces_of_calls_have_recorded_gas_and_status() {
    RecordedChain::each(|chain| {
        for block in &chain.blocks()[1..] {
            let traces = chain.traces(block, &json!({"tracer": "callTracer"}));
            // A trace of one transaction executes all before it again.
            let step = 1 + traces.len() / 16;
            for (index, (trace, receipt)) in traces.into_iter().enumerate() {
                let hash = &receipt["transactionHash"];
                assert_eq!(trace["gasUsed"], receipt["gasUsed"], "{hash}");
                assert_eq!(trace["from"], receipt["from"], "{hash}");
                assert_eq!(trace.get("error").is_some(), receipt["status"] == "0x0", "{hash}: {trace}");
                if index % step != 0 {
                    continue;
                }
                let alone = chain
                    .bench
                    .call("debug_traceTransaction", &json!([hash, {"tracer": "callTracer"}]).to_string());
                assert_eq!(alone, trace, "{hash}");
            }
        }
    });
}

#[test]
fn traces_of_steps_have_recorded_gas_and_status() {
    RecordedChain::each(|chain| {
        let config = json!({"disableStack": true, "disableStorage": true});
        for block in chain.blocks()[1..].iter().step_by(7) {
            for (trace, receipt) in chain.traces(block, &config) {
                let hash = &receipt["transactionHash"];
                let gas = U256::from(trace["gas"].as_u64().unwrap());
                assert_eq!(json!(gas), receipt["gasUsed"], "{hash}");
                assert_eq!(trace["failed"], json!(receipt["status"] == "0x0"), "{hash}");
            }
        }
    });
}

/// Balances and nonces of accounts, as the differences of traces set them.
#[derive(Default)]
struct Accounts(BTreeMap<String, (U256, u64)>);

impl Accounts {
    fn apply(&mut self, difference: &Value) {
        let (pre, post) = (difference["pre"].as_object().unwrap(), difference["post"].as_object().unwrap());
        for (address, before) in pre {
            let before = parts(before, (U256::ZERO, 0));
            let known = self.0.entry(address.clone()).or_insert(before);
            assert_eq!(*known, before, "{address} before a transaction");
            if !post.contains_key(address) {
                *known = (U256::ZERO, 0);
            }
        }
        for (address, after) in post {
            let known = self.0.entry(address.clone()).or_default();
            *known = parts(after, *known);
        }
    }
}

/// Returns balance and nonce, which are absent if they did not change.
fn parts(account: &Value, unchanged: (U256, u64)) -> (U256, u64) {
    let balance = account.get("balance").map(|balance| balance.as_str().unwrap().parse().unwrap());
    (
        balance.unwrap_or(unchanged.0),
        account.get("nonce").map_or(unchanged.1, |nonce| nonce.as_u64().unwrap()),
    )
}

#[test]
fn differences_of_all_transactions_give_the_last_state() {
    RecordedChain::each(|chain| {
        let mut accounts = Accounts::default();
        let config = json!({"tracer": "prestateTracer", "tracerConfig": {"diffMode": true}});
        for block in &chain.blocks()[1..] {
            for (trace, _) in chain.traces(block, &config) {
                accounts.apply(&trace);
            }
        }
        assert!(accounts.0.len() > 20, "{}", accounts.0.len());
        for (address, (balance, nonce)) in accounts.0 {
            let at = json!([address, "latest"]).to_string();
            assert_eq!(chain.bench.call("eth_getBalance", &at), json!(balance), "balance of {address}");
            let count = chain.bench.call("eth_getTransactionCount", &at);
            assert_eq!(count, json!(U256::from(nonce)), "nonce of {address}");
        }
    });
}

#[test]
fn a_trace_of_a_minting_deposit_shows_the_mint() {
    RecordedChain::each(|chain| {
        let config = json!({"tracer": "prestateTracer", "tracerConfig": {"diffMode": true}});
        let mut minted = 0;
        let number = |value: &Value| value.as_str().map_or(U256::ZERO, |text| text.parse().unwrap());
        for (transaction, receipt) in chain.blocks().iter().flat_map(RecordedChain::transactions) {
            let mint = transaction.get("mint").map(number).unwrap_or_default();
            if mint.is_zero() || receipt["status"] == "0x1" {
                continue;
            }
            // Nothing else of a failed deposit stays but the nonce.
            let params = json!([transaction["hash"], config]).to_string();
            let trace = chain.bench.call("debug_traceTransaction", &params);
            let sender = transaction["from"].as_str().unwrap();
            let gain = number(&trace["post"][sender]["balance"]) - number(&trace["pre"][sender]["balance"]);
            assert_eq!(gain, mint, "{}", transaction["hash"]);
            minted += 1;
        }
        if chain.name != "karst-reorg" {
            assert!(minted > 1, "{minted} failed deposits with a mint");
        }
    });
}
