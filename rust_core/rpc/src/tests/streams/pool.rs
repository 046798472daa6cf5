//! Transactions that enter the pool.

use alloy_primitives::U256;
use foreseal_pool::PoolConfig;
use foreseal_testkit::Fees;
use serde_json::{Value, json};

use super::Streams;
use crate::tests::Bench;

fn transfer(bench: &Bench, nonce: u64) -> Value {
    let wallet = &bench.wallets[0];
    json!(bench.submit(&wallet.transfer(nonce, wallet.address, 1, Fees::default())))
}

fn pooled(bench: &Bench, hash: &Value) -> Value {
    bench.call("eth_getTransactionByHash", &json!([hash]).to_string())
}

#[test]
fn each_transaction_is_notified_once_when_it_enters_the_pool() {
    let mut bench = Bench::new(2);
    let mut streams = Streams::new(&bench);
    transfer(&bench, 0);
    let hashes = streams.subscribe(&json!(["newPendingTransactions"]));
    let full = streams.subscribe(&json!(["newPendingTransactions", true]));
    assert_ne!(hashes.channel, full.channel);
    let mut expected = Vec::new();
    for nonce in 1..4 {
        let hash = transfer(&bench, nonce);
        expected.push(pooled(&bench, &hash));
    }
    // One is replaced and all are executed before the pump reads the pool.
    let wallet = bench.wallets[0].clone();
    let fees = Fees { max_fee: 4 * Fees::default().max_fee, tip: 4 * Fees::default().tip };
    let replacing = json!(bench.submit(&wallet.transfer(3, wallet.address, 2, fees)));
    expected.push(pooled(&bench, &replacing));
    bench.tick();
    assert_eq!(bench.api.node().pool().counts().pooled, 0);
    streams.deliver_all();
    assert_eq!(streams.messages(&full), expected);
    let all: Vec<Value> = expected.iter().map(|transaction| transaction["hash"].clone()).collect();
    assert_eq!(streams.messages(&hashes), all);
    assert!(streams.messages(&full).iter().all(|message| message["blockHash"].is_null()));
}

/// A stranger's transactions behind a gap of nonces cost nothing, and each subscriber gets them in full.
#[test]
fn large_arrivals_reach_their_subscribers_in_chunks() {
    let bench = Bench::new(1);
    let mut streams = Streams::new(&bench);
    let full = streams.subscribe(&json!(["newPendingTransactions", true]));
    let wallet = &bench.wallets[0];
    let fees = Fees::default();
    let submit = |nonce, length| {
        let input = vec![7; length].into();
        let raw = wallet.eip1559(nonce, wallet.address.into(), U256::ZERO, 6_000_000, input, fees);
        json!(bench.submit(&raw))
    };
    let expected: Vec<_> =
        (0..6).map(|number| submit(9 + number, 120_000)).map(|hash| pooled(&bench, &hash)).collect();
    streams.deliver_all();
    let deferred = streams.notices.iter().filter_map(|notice| notice.deferred.as_ref());
    let chunks: Vec<_> = deferred.flat_map(|one| (0..9).map_while(|number| one.render(number))).collect();
    assert_eq!(chunks.iter().map(|chunk| chunk.messages.len()).collect::<Vec<_>>(), [1; 6]);
    assert!(chunks[5].is_last && !chunks[4].is_last);
    assert_eq!(streams.messages(&full), expected);
    // A small one is rendered at once.
    let small = submit(20, 10);
    streams.deliver_all();
    assert_eq!(streams.messages(&full)[6], pooled(&bench, &small));
    assert!(streams.notices.last().is_some_and(|notice| notice.deferred.is_none()));
}

#[test]
fn a_late_subscriber_gets_only_later_transactions() {
    let bench = Bench::new(1);
    let mut streams = Streams::new(&bench);
    for params in [json!(["newPendingTransactions"]), json!(["newPendingTransactions", true])] {
        let nonce = bench.api.node().pool().next_pending_sequence();
        let first = streams.subscribe(&params);
        let one = transfer(&bench, nonce);
        let second = streams.subscribe(&params);
        let two = transfer(&bench, nonce + 1);
        let third = streams.subscribe(&params);
        assert_eq!([second.channel, third.channel], [first.channel; 2]);
        streams.deliver_all();
        let three = transfer(&bench, nonce + 2);
        streams.deliver_all();
        let hashes = |subscribed| -> Vec<Value> {
            let messages = streams.messages(subscribed).into_iter();
            messages.map(|m| if m.is_object() { m["hash"].clone() } else { m }).collect()
        };
        assert_eq!(hashes(&first), [one, two.clone(), three.clone()]);
        assert_eq!(hashes(&second), [two, three.clone()]);
        assert_eq!(hashes(&third), [three]);
        for subscribed in [first, second, third] {
            streams.subscriptions.unsubscribe(subscribed.channel);
        }
    }
}

#[test]
fn a_subscriber_that_missed_transactions_gets_a_loss_notice() {
    let bench = Bench::with_pool(1, PoolConfig { max_pending_log: 4, ..PoolConfig::default() });
    let mut streams = Streams::new(&bench);
    for params in [json!(["newPendingTransactions"]), json!(["newPendingTransactions", true])] {
        let mut nonce = bench.api.node().pool().next_pending_sequence();
        let mut enter = |count: u64| {
            nonce += count;
            (nonce - count..nonce).map(|nonce| transfer(&bench, nonce)).collect::<Vec<_>>()
        };
        let behind = streams.subscribe(&params);
        enter(3);
        let ahead = streams.subscribe(&params);
        let retained = enter(4);
        streams.deliver_all();
        assert!(streams.lost(&behind), "the first three are no longer remembered");
        assert!(!streams.lost(&ahead), "it began behind them");
        assert_eq!(streams.messages(&ahead).len(), retained.len());
        streams.subscriptions.unsubscribe(behind.channel);
        let more = enter(1);
        streams.deliver_all();
        let last = streams.messages(&ahead).pop().unwrap();
        assert_eq!(if last.is_object() { last["hash"].clone() } else { last }, more[0]);
        streams.subscriptions.unsubscribe(ahead.channel);
    }
}
