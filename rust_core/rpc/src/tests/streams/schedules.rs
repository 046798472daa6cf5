//! Subscriptions that start while blocks are sealed and unwound. The atomic actions of producer, pump, event
//! loop and clients run in many orders. Every subscriber must see every step from its start on exactly once
//! and in order.

use std::{collections::HashSet, path::Path, time::Duration};

use alloy_primitives::B256;
use foreseal_chain::{BlockId, ReadMode, StepCursor};
use foreseal_node::{Development, Settings};
use foreseal_testkit::{Fees, Wallet};
use rand::{SeedableRng, rngs::StdRng, seq::SliceRandom};
use serde_json::{Value, json};

use super::Streams;
use crate::{
    context::limits::Limits,
    streams::subscriptions::{
        channels::{AttemptProgress, Subscription, SubscriptionAttempt},
        notification::Notification,
    },
    tests::{Bench, settings},
};

/// Atomic action of one actor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Act {
    /// A transaction enters the pool and is included in a step.
    Step,
    /// Seals the pending block.
    Seal,
    /// Unwinds the newest sealed block, and the pending one with it.
    Unwind,
    /// Replaces the newest sealed block by an empty one.
    Reorg,
    /// The pump takes the entries of the feed.
    Poll,
    /// The pump delivers one entry to the channels.
    Deliver,
    /// The event loop sends the pump's notices to the clients.
    Drain,
    /// The client with this index reads a page.
    Page(usize),
    /// The client with this index runs the next step of its subscription.
    Join(usize),
    /// The client with this index unsubscribes.
    Leave(usize),
}

/// Subscription of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wants {
    Feed,
    /// The feed, from the step that was the newest at the start.
    FeedFromCursor,
    Heads,
}

struct Client {
    wants: Wants,
    cursor: Value,
    joining: Option<SubscriptionAttempt>,
    subscribed: Option<Subscription>,
    left: bool,
    /// Received messages, pages included.
    received: Vec<Value>,
    /// Number of steps and heads when the subscription was confirmed.
    answered: (usize, usize),
}

/// One run of a schedule.
struct World<'b> {
    bench: &'b mut Bench,
    streams: Streams,
    /// Notices from the pump that the event loop has not sent yet.
    pushed: Vec<Notification>,
    clients: Vec<Client>,
    first: u64,
    /// Steps that existed at the start.
    begun: Vec<B256>,
    chain: Vec<StepCursor>,
    sealed: Vec<B256>,
    /// Changes seen by a reader of the chain: each step, and whether it was removed.
    steps: Vec<(B256, bool)>,
    /// Each sealed block when it appeared.
    heads: Vec<B256>,
}

/// Returns the steps from block `first` on, and the sealed blocks.
fn chain(bench: &Bench, first: u64) -> (Vec<StepCursor>, Vec<B256>) {
    let view = bench.view();
    let (mut steps, mut sealed) = (Vec::new(), Vec::new());
    for number in first..=view.pending().number() {
        let block = view.at(number).unwrap().unwrap();
        let cursors =
            block.steps.iter().zip(0..).map(|(step, index)| StepCursor { number, index, hash: step.hash });
        steps.extend(cursors);
        if number < view.pending().number() {
            sealed.push(view.resolve(BlockId::Number(number)).unwrap().block.hash);
        }
    }
    (steps, sealed)
}

fn common<T: PartialEq>(one: &[T], other: &[T]) -> usize {
    one.iter().zip(other).take_while(|(one, other)| one == other).count()
}

impl<'b> World<'b> {
    fn new(bench: &'b mut Bench, wants: &[Wants]) -> Self {
        let streams = Streams::new(bench);
        let first = bench.view().latest().number() - 1;
        let (chain, sealed) = chain(bench, first);
        let cursor = bench.call("foreseal_getFlashblocks", "[]")["cursor"].clone();
        let client = |wants: &Wants| Client {
            wants: *wants,
            cursor: cursor.clone(),
            joining: None,
            subscribed: None,
            left: false,
            received: Vec::new(),
            answered: (0, 0),
        };
        let clients = wants.iter().map(client).collect();
        let begun = chain.iter().map(|entry| entry.hash).collect();
        let (steps, heads, pushed) = (Vec::new(), Vec::new(), Vec::new());
        Self { bench, streams, pushed, clients, first, begun, chain, sealed, steps, heads }
    }

    fn act(&mut self, act: Act) {
        match act {
            Act::Step => {
                let wallet = self.bench.wallets[0].clone();
                let nonce = self.bench.api.node().pool().next_nonce(&wallet.address, self.nonce(&wallet));
                self.bench.submit(&wallet.transfer(nonce, wallet.address, 1, Fees::default()));
                self.tick(Duration::from_millis(1));
            }
            Act::Seal => self.tick(Duration::from_secs(2)),
            Act::Unwind => {
                let number = self.bench.view().latest().number() - 1;
                self.bench.api.node().control(|writer| writer.unwind(number)).unwrap();
                self.record_chain();
            }
            Act::Reorg => {
                self.bench.api.node().develop(|development| development.reorg(&[Vec::new()])).unwrap();
                self.record_chain();
            }
            Act::Poll => drop(self.streams.pump.wait_for_entries(Duration::ZERO)),
            Act::Deliver => {
                let pushed = &mut self.pushed;
                self.streams.pump.deliver(&mut |notice| pushed.push(notice));
            }
            Act::Drain => self.drain(),
            Act::Page(client) => self.page(client),
            Act::Join(client) => self.join(client),
            Act::Leave(client) => self.leave(client),
        }
    }

    fn nonce(&self, wallet: &Wallet) -> u64 {
        let params = json!([wallet.address, "pending"]).to_string();
        let nonce = self.bench.call("eth_getTransactionCount", &params);
        u64::from_str_radix(&nonce.as_str().unwrap()[2..], 16).unwrap()
    }

    fn tick(&mut self, by: Duration) {
        self.bench.clock.advance(by);
        let now = foreseal_chain::Clock::now(&*self.bench.clock);
        self.bench.producer.as_mut().unwrap().tick(now, &mut || true).unwrap();
        self.record_chain();
    }

    /// Records the changes of the chain.
    fn record_chain(&mut self) {
        let (chain, sealed) = chain(self.bench, self.first);
        let shared = common(&self.chain, &chain);
        self.steps.extend(self.chain[shared..].iter().rev().map(|removed| (removed.hash, true)));
        self.steps.extend(chain[shared..].iter().map(|new| (new.hash, false)));
        self.heads.extend(&sealed[common(&self.sealed, &sealed)..]);
        (self.chain, self.sealed) = (chain, sealed);
    }

    fn drain(&mut self) {
        for notice in self.pushed.drain(..) {
            for client in &mut self.clients {
                let Some(subscribed) = &client.subscribed else { continue };
                if client.left || subscribed.channel != notice.channel || notice.sequence < subscribed.start {
                    continue;
                }
                let messages = notice.messages.as_ref().expect("nothing is lost");
                client
                    .received
                    .extend(messages.iter().map(|text| serde_json::from_str::<Value>(text).unwrap()));
            }
        }
    }

    fn page(&mut self, client: usize) {
        let client = &mut self.clients[client];
        if client.wants != Wants::FeedFromCursor || client.subscribed.is_some() {
            return;
        }
        let mut page = self.bench.call("foreseal_getFlashblocks", &json!([client.cursor, "0x2"]).to_string());
        client.received.extend(page["flashblocks"].as_array().unwrap().clone());
        client.cursor = page["cursor"].take();
    }

    fn join(&mut self, client: usize) {
        let client = &mut self.clients[client];
        if client.subscribed.is_some() {
            return;
        }
        let params = match client.wants {
            Wants::Feed => json!(["foreseal_feed"]),
            Wants::FeedFromCursor => json!(["foreseal_feed", client.cursor]),
            Wants::Heads => json!(["newHeads"]),
        };
        let subscriptions = &self.streams.subscriptions;
        let joining = client.joining.get_or_insert_with(|| {
            SubscriptionAttempt::new(
                subscriptions.read(params.to_string().as_bytes(), ReadMode::Standard).unwrap(),
            )
        });
        match joining.advance(subscriptions).unwrap() {
            AttemptProgress::InProgress => {}
            AttemptProgress::Behind => client.joining = None,
            AttemptProgress::Done(subscribed) => {
                client.answered = (self.steps.len(), self.heads.len());
                client.subscribed = Some(subscribed);
            }
        }
    }

    fn leave(&mut self, client: usize) {
        let client = &mut self.clients[client];
        if let Some(subscribed) = client.subscribed.as_ref().filter(|_| !client.left) {
            self.streams.subscriptions.unsubscribe(subscribed.channel);
            client.left = true;
        }
    }

    /// Completes all clients, with one more block after all have joined.
    fn finish(&mut self) {
        while let Some(client) = self.clients.iter().position(|client| client.subscribed.is_none()) {
            self.page(client);
            self.join(client);
            self.join(client);
        }
        self.act(Act::Step);
        self.act(Act::Seal);
        while self.streams.pump.wait_for_entries(Duration::ZERO) {
            self.act(Act::Deliver);
        }
        self.drain();
    }

    fn check(&self) {
        for client in &self.clients {
            match client.wants {
                Wants::Heads => {
                    let received: Vec<B256> = client.received.iter().map(|head| hash(head, "hash")).collect();
                    let expected = &self.heads[client.answered.1..];
                    assert!(is_received(&received, expected, client.left), "{received:?} of {expected:?}");
                }
                Wants::Feed => {
                    let expected = &self.steps[client.answered.0..];
                    let received = steps(&client.received);
                    assert!(is_received(&received, expected, client.left), "{received:?} of {expected:?}");
                }
                Wants::FeedFromCursor => self.check_reader(client),
            }
        }
    }

    /// Checks that the client's steps equal the chain in the end, and that each step it received followed the
    /// ones it had.
    fn check_reader(&self, client: &Client) {
        let mut applied = self.begun.clone();
        for message in client.received.iter().filter(|message| message["heartbeat"].is_null()) {
            let (step, parent) = (hash(message, "hash"), hash(message, "parent"));
            if message["removed"] == json!(true) {
                assert_eq!(applied.pop(), Some(step), "what is undone was the newest");
            }
            assert_eq!(applied.last(), Some(&parent), "no step is left out and none comes twice");
            if message["removed"] == json!(false) {
                applied.push(step);
            }
        }
        let newest: Vec<B256> = self.chain.iter().map(|entry| entry.hash).collect();
        assert_eq!(applied, newest, "it holds the chain");
    }
}

fn hash(message: &Value, field: &str) -> B256 {
    message[field].as_str().unwrap().parse().unwrap()
}

/// Returns the steps, each with its `removed` flag.
fn steps(messages: &[Value]) -> Vec<(B256, bool)> {
    let steps = messages.iter().filter(|message| message["heartbeat"].is_null());
    steps.map(|message| (hash(message, "hash"), message["removed"] == json!(true))).collect()
}

/// Compares the received messages. A client that left has received a prefix.
fn is_received<T: PartialEq>(received: &[T], expected: &[T], left: bool) -> bool {
    if left { expected.starts_with(received) } else { received == expected }
}

/// Actors, each with its actions in order, and the subscriptions of the clients.
struct Scenario {
    scripts: Vec<Vec<Act>>,
    clients: Vec<Wants>,
}

impl Scenario {
    /// Runs one order, given as the actor of each action.
    fn run(&self, bench: &mut Bench, schedule: &[usize]) {
        let mut world = World::new(bench, &self.clients);
        let mut next = vec![0; self.scripts.len()];
        for actor in schedule {
            world.act(self.scripts[*actor][next[*actor]]);
            next[*actor] += 1;
        }
        world.finish();
        world.check();
    }

    /// Runs every order, depth first. Returns the number of orders.
    fn run_all(&self, bench: &mut Bench, schedule: &mut Vec<usize>, left: &mut [usize]) -> usize {
        if left.iter().all(|left| *left == 0) {
            self.run(bench, schedule);
            return 1;
        }
        let mut count = 0;
        for actor in 0..left.len() {
            if left[actor] > 0 {
                left[actor] -= 1;
                schedule.push(actor);
                count += self.run_all(bench, schedule, left);
                schedule.pop();
                left[actor] += 1;
            }
        }
        count
    }

    fn every_order(&self, bench: &mut Bench) -> usize {
        let mut left: Vec<usize> = self.scripts.iter().map(Vec::len).collect();
        self.run_all(bench, &mut Vec::new(), &mut left)
    }

    /// Runs `count` different orders, drawn at random.
    fn some_orders(&self, bench: &mut Bench, count: usize, seed: u64) -> usize {
        let mut random = StdRng::seed_from_u64(seed);
        let actors = self.scripts.iter().enumerate();
        let mut schedule: Vec<usize> =
            actors.flat_map(|(actor, script)| std::iter::repeat_n(actor, script.len())).collect();
        let mut run = HashSet::new();
        while run.len() < count {
            schedule.shuffle(&mut random);
            if run.insert(schedule.clone()) {
                self.run(bench, &schedule);
            }
        }
        run.len()
    }
}

/// Creates a development node with some blocks. Its data is in memory where `/dev/shm` exists, because it
/// syncs every step.
fn bench() -> Bench {
    let memory = Path::new("/dev/shm");
    let datadir = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() }.unwrap();
    let wallets = Wallet::some(1);
    let settings =
        Settings { development: Some(Development::default()), ..settings(datadir.path(), &wallets) };
    let mut bench = Bench::open(datadir, settings, wallets, Limits::default());
    for _ in 0..3 {
        bench.seal();
    }
    bench
}

#[test]
fn a_subscriber_from_a_cursor_gets_every_step_once() {
    use Act::{Deliver, Join, Page, Poll, Seal, Step, Unwind};
    let scenario = Scenario {
        scripts: vec![
            vec![Step, Seal, Unwind],
            vec![Poll, Deliver, Poll, Deliver, Deliver],
            vec![Page(0), Join(0), Join(0)],
        ],
        clients: vec![Wants::FeedFromCursor],
    };
    let count = scenario.every_order(&mut bench());
    println!("every order of 11 actions: {count} distinct schedules");
    assert_eq!(count, 9_240);
}

#[test]
fn clients_get_every_event_of_their_subscription_in_any_schedule() {
    use Act::{Deliver, Drain, Join, Leave, Page, Poll, Reorg, Seal, Step, Unwind};
    let scenario = Scenario {
        scripts: vec![
            vec![Step, Seal, Reorg, Unwind, Step, Seal],
            vec![Poll, Deliver, Deliver, Poll, Deliver, Deliver, Poll, Deliver],
            vec![Join(0), Join(0), Drain, Join(1), Join(1), Drain, Leave(0), Drain],
            vec![Join(2), Join(2), Drain, Page(3), Join(3), Join(3)],
        ],
        clients: vec![Wants::Feed, Wants::Feed, Wants::Heads, Wants::FeedFromCursor],
    };
    // `make schedules` runs more of them.
    let wanted = std::env::var("FORESEAL_SCHEDULES").map_or(1_500, |count| count.parse().unwrap());
    let count = scenario.some_orders(&mut bench(), wanted, 1);
    println!("28 actions of producer, pump and clients: {count} distinct schedules");
    assert_eq!(count, wanted);
}
