//! Start of a subscription, and its end after a failure.

use std::{panic::AssertUnwindSafe, time::Duration};

use serde_json::{Value, json};

use super::{Streams, step, workload};
use crate::tests::Bench;

fn steps(streams: &Streams, subscribed: &crate::Subscription) -> Vec<Value> {
    let messages = streams.messages(subscribed).into_iter();
    messages.filter(|message| message["heartbeat"].is_null()).collect()
}

fn newest_cursor(bench: &Bench) -> Value {
    bench.call("foreseal_getFlashblocks", "[]")["cursor"].clone()
}

#[test]
fn only_the_newest_cursor_joins_and_others_leave_no_subscription() {
    let mut bench = Bench::new(2);
    let mut streams = Streams::new(&bench);
    let mut workload = workload(&bench, 2);
    let behind = newest_cursor(&bench);
    bench.submit(&workload.next_transaction());
    bench.tick();
    assert_eq!(streams.try_subscribe(&json!(["foreseal_feed", behind])).unwrap(), None);
    streams.deliver_all();
    assert_eq!(streams.notices, [], "nobody listens");
    let page = bench.call("foreseal_getFlashblocks", &json!([behind]).to_string());
    let joined = streams.subscribe(&json!(["foreseal_feed", page["cursor"]]));
    step(&mut bench, &mut streams, &mut workload, 1);
    let next = steps(&streams, &joined);
    assert_eq!(next.len(), 1);
    assert_eq!(next[0]["parent"], page["cursor"]["hash"]);
    for (field, wrong) in [("block", "0x7"), ("index", "0x9")] {
        let mut other = newest_cursor(&bench);
        other[field] = json!(wrong);
        assert_eq!(streams.try_subscribe(&json!(["foreseal_feed", other])).unwrap(), None);
    }
}

#[test]
fn a_new_subscriber_gets_no_earlier_notifications_in_flight() {
    let mut bench = Bench::new(2);
    let mut streams = Streams::new(&bench);
    let mut workload = workload(&bench, 3);
    let first = streams.subscribe(&json!(["foreseal_feed"]));
    let mut joined = Vec::new();
    for _ in 0..5 {
        bench.submit(&workload.next_transaction());
        bench.tick();
        joined.push(streams.subscribe(&json!(["foreseal_feed"])));
    }
    streams.deliver_all();
    let all = streams.texts(&first);
    assert_eq!(steps(&streams, &first).len(), 5);
    for (at, joined) in joined.iter().enumerate() {
        let texts = streams.texts(joined);
        assert_eq!(texts, all[all.len() - texts.len()..]);
        assert_eq!(steps(&streams, joined).len(), 4 - at);
    }
}

/// The feed queues some hundreds of views for a pump that takes none, then merges them.
#[test]
fn skipped_views_are_notified_except_to_their_joiners() {
    let mut bench = Bench::new(2);
    let mut streams = Streams::new(&bench);
    let mut workload = workload(&bench, 3);
    let mut joined = vec![streams.subscribe(&json!(["foreseal_feed"]))];
    let begun = newest_cursor(&bench);
    for round in 0..300 {
        bench.submit(&workload.next_transaction());
        bench.tick();
        if round % 7 == 0 {
            joined.push(streams.subscribe(&json!(["foreseal_feed", newest_cursor(&bench)])));
        }
    }
    streams.deliver_all();
    let all = steps(&streams, &joined[0]);
    let page = bench.call("foreseal_getFlashblocks", &json!([begun]).to_string());
    assert_eq!((json!(all), page["complete"].clone()), (page["flashblocks"].clone(), json!(true)));
    assert!(all.len() > 300);
    let mut before = all.len() + 1;
    for joined in &joined {
        let mine = steps(&streams, joined);
        assert!(mine.len() < before);
        before = mine.len();
        assert_eq!(mine, all[all.len() - mine.len()..]);
    }
    assert!(before < 10);
}

/// The feed merges waiting views. Taken views can no longer be merged, so the pump takes few.
#[test]
fn a_slow_pump_does_not_accumulate_views() {
    let mut bench = Bench::new(2);
    let mut streams = Streams::new(&bench);
    let mut workload = workload(&bench, 3);
    let joined = streams.subscribe(&json!(["foreseal_feed"]));
    let begun = newest_cursor(&bench);
    for _ in 0..600 {
        bench.submit(&workload.next_transaction());
        bench.tick();
        streams.pump.wait_for_entries(Duration::ZERO);
    }
    let mut entries = 0;
    while streams.pump.wait_for_entries(Duration::ZERO) {
        let notices = &mut streams.notices;
        streams.pump.deliver(&mut |notice| notices.push(notice));
        entries += 1;
    }
    assert!(entries < 600, "{entries} entries waited");
    let page = bench.call("foreseal_getFlashblocks", &json!([begun]).to_string());
    assert!(page["complete"] == json!(true) && page["flashblocks"] == json!(steps(&streams, &joined)));
}

/// Two subscribers start at the same position; between them the chain leaves it and returns.
#[test]
fn a_subscriber_joining_at_a_restored_step_gets_no_reorg() {
    let mut bench = Bench::developing(2);
    let mut streams = Streams::new(&bench);
    let mut workload = workload(&bench, 3);
    let first = streams.subscribe(&json!(["foreseal_feed"]));
    let snapshot = bench.call("evm_snapshot", "[]");
    let override_params = json!([alloy_primitives::Address::repeat_byte(7), "0x1"]).to_string();
    let begun = newest_cursor(&bench);
    bench.call("anvil_setBalance", &override_params);
    assert_ne!(newest_cursor(&bench), begun);
    assert_eq!(bench.call("evm_revert", &json!([snapshot]).to_string()), json!(true));
    assert_eq!(newest_cursor(&bench), begun);
    let second = streams.subscribe(&json!(["foreseal_feed"]));
    // More than the feed queues: the view at which the second one started is merged with later ones.
    for _ in 0..300 {
        bench.submit(&workload.next_transaction());
        bench.tick();
    }
    streams.deliver_all();
    let (of_first, of_second) = (steps(&streams, &first), steps(&streams, &second));
    let removed: Vec<&Value> = of_first.iter().map(|step| &step["removed"]).take(2).collect();
    assert_eq!(removed, [&json!(false), &json!(true)]);
    assert!(of_second == of_first[2..]);
}

/// The node may publish its first views before the pump takes for the first time.
#[test]
fn a_subscription_created_before_the_pump_misses_nothing() {
    let mut bench = Bench::new(2);
    let mut workload = workload(&bench, 3);
    let mut streams = Streams::asleep(&bench);
    let joined = streams.subscribe(&json!(["foreseal_feed"]));
    let mut expected = Vec::new();
    for _ in 0..3 {
        let before = newest_cursor(&bench);
        bench.submit(&workload.next_transaction());
        bench.tick();
        let page = bench.call("foreseal_getFlashblocks", &json!([before]).to_string());
        expected.extend(page["flashblocks"].as_array().unwrap().clone());
    }
    streams.deliver_all();
    assert_eq!(steps(&streams, &joined), expected);
}

#[test]
fn a_panic_ends_subscriptions_with_losses_and_the_pump_continues() {
    let mut bench = Bench::new(2);
    let mut streams = Streams::new(&bench);
    let mut workload = workload(&bench, 3);
    let feed = streams.subscribe(&json!(["foreseal_feed"]));
    let (heads, pending) =
        (streams.subscribe(&json!(["newHeads"])), streams.subscribe(&json!(["newPendingTransactions"])));
    bench.submit(&workload.next_transaction());
    streams.deliver_all();
    bench.tick();
    let later = streams.subscribe(&json!(["foreseal_feed"]));
    streams.pump.wait_for_entries(Duration::ZERO);
    let (notices, mut calls) = (&mut streams.notices, 0);
    let delivered = std::panic::catch_unwind(AssertUnwindSafe(|| {
        while streams.pump.deliver(&mut |notice| {
            calls += 1;
            assert!(calls > 1, "on purpose");
            notices.push(notice);
        }) {}
    }));
    assert!(delivered.is_ok(), "it stays inside");
    assert!(streams.lost(&feed) && streams.lost(&heads));
    assert!(!streams.lost(&pending) && !streams.lost(&later));
    step(&mut bench, &mut streams, &mut workload, 1);
    assert_eq!(steps(&streams, &later).len(), 1);
    assert_eq!(streams.messages(&pending).len(), 2);
}
