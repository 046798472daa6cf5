//! Subscriptions: their messages equal the results of the methods.

mod flashblocks;
mod joining;
mod large_steps;
mod pool;
mod reorgs;
mod schedules;
mod shapes;

use std::{sync::Arc, time::Duration};

use foreseal_chain::ReadMode;
use foreseal_testkit::{TransactionKinds, Workload};
use serde_json::{Value, json};

use super::Bench;
use crate::{
    context::limits::Limits,
    errors::rpc_error::RpcError,
    streams::subscriptions::{
        channels::{Subscription, Subscriptions},
        notification::Notification,
        pump::DeliveryPump,
    },
};

/// Pump of a bench, and all notices that it has delivered.
pub(super) struct Streams {
    subscriptions: Arc<Subscriptions>,
    pump: DeliveryPump,
    notices: Vec<Notification>,
}

impl Streams {
    pub(super) fn new(bench: &Bench) -> Self {
        let mut streams = Self::asleep(bench);
        // From here on the feed records changes.
        streams.deliver_all();
        streams
    }

    /// Creates streams with a pump that has not run yet.
    fn asleep(bench: &Bench) -> Self {
        Self::with_terms(bench, Limits::default().terms)
    }

    fn with_terms(bench: &Bench, terms: u64) -> Self {
        let subscriptions = Arc::new(Subscriptions::new(bench.api.node().clone(), terms));
        Self { pump: DeliveryPump::new(subscriptions.clone()), subscriptions, notices: Vec::new() }
    }

    fn try_subscribe(&mut self, params: &Value) -> Result<Option<Subscription>, RpcError> {
        self.subscribe_in(params, ReadMode::Standard)
    }

    pub(super) fn subscribe_in(
        &mut self,
        params: &Value,
        mode: ReadMode,
    ) -> Result<Option<Subscription>, RpcError> {
        let subscribed = self.subscriptions.subscribe(params.to_string().as_bytes(), mode)?;
        let first = subscribed.as_ref().and_then(|subscribed| subscribed.first.clone());
        self.notices.extend(first);
        Ok(subscribed)
    }

    fn subscribe(&mut self, params: &Value) -> Subscription {
        let subscribed = self.try_subscribe(params).unwrap_or_else(|error| panic!("{params}: {error:?}"));
        subscribed.unwrap_or_else(|| panic!("{params}: the cursor is not the newest step"))
    }

    /// Delivers all pending entries.
    pub(super) fn deliver_all(&mut self) {
        while self.pump.wait_for_entries(Duration::ZERO) {
            let notices = &mut self.notices;
            while self.pump.deliver(&mut |notice| notices.push(notice)) {}
        }
    }

    /// Returns the messages of a subscription so far, unparsed.
    fn texts(&self, subscribed: &Subscription) -> Vec<String> {
        let mine =
            self.notices.iter().filter(|n| n.channel == subscribed.channel && n.sequence >= subscribed.start);
        mine.flat_map(all_messages).collect()
    }

    pub(super) fn messages(&self, subscribed: &Subscription) -> Vec<Value> {
        self.texts(subscribed).iter().map(|text| serde_json::from_str(text).unwrap()).collect()
    }

    /// Returns `true` if a notice reported lost messages to a subscription.
    fn lost(&self, subscribed: &Subscription) -> bool {
        let mine =
            self.notices.iter().filter(|n| n.channel == subscribed.channel && n.sequence >= subscribed.start);
        mine.clone().any(|notice| notice.messages.is_none())
    }
}

/// Returns the messages of a notice, rendered chunk by chunk if they are deferred.
fn all_messages(notice: &Notification) -> Vec<String> {
    let mut messages = notice.messages.clone().expect("nothing was lost");
    let Some(deferred) = &notice.deferred else { return messages };
    assert!(messages.is_empty());
    for number in 0.. {
        let chunk = deferred.render(number).expect("the chunk before it was rendered");
        messages.extend(chunk.messages);
        if chunk.is_last {
            break;
        }
    }
    messages
}

/// Submits `count` transactions, produces a step, and delivers it.
fn step(bench: &mut Bench, streams: &mut Streams, workload: &mut Workload, count: usize) {
    for _ in 0..count {
        bench.submit(&workload.next_transaction());
    }
    bench.tick();
    streams.deliver_all();
}

fn workload(bench: &Bench, seed: u64) -> Workload {
    Workload::new(bench.wallets.clone(), TransactionKinds::WithoutBlobs, seed)
}

fn bytes(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

/// Returns the step of a feed message or heartbeat as a cursor.
fn cursor(message: &Value) -> Value {
    json!({"block": message["number"], "index": message["index"], "hash": message["hash"]})
}
