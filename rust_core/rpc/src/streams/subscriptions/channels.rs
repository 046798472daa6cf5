//! Registry of channels and their subscribers.
//!
//! ```text
//!   subscribe:  enter (the stream has a channel)  ->  begin (after the newest entry of the feed)
//!   pump:       take entries  ->  read the channels  ->  render and deliver
//! ```
//!
//! The pump reads the channels after it has taken an entry. An entry published after `begin` is therefore
//! rendered for a channel that exists already. So no lock spans both steps, and no lock is held during
//! rendering.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
};

use foreseal_chain::{ReadMode, StepCursor};
use foreseal_node::Node;
use imbl::OrdMap;
use parking_lot::Mutex;

use super::{
    notification::Notification,
    stream::{Stream, SubscribeRequest},
};
use crate::errors::{error::Error, rpc_error::RpcError};

/// Stream that has subscribers.
#[derive(Debug)]
pub struct Channel {
    /// Id of the channel; never reused.
    pub id: u64,
    pub stream: Stream,
    /// Number of the first pool arrival that this channel delivers.
    pub first_pending_sequence: u64,
}

/// Channels by id.
pub type ActiveChannels = OrdMap<u64, Arc<Channel>>;

/// Result of a subscription.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subscription {
    pub channel: u64,
    /// Sequence number of the first notice of the channel that belongs to this subscription.
    pub start: u64,
    /// Notification to deliver immediately.
    pub first: Option<Notification>,
}

/// Channels of a node and the number of subscribers of each.
pub struct Subscriptions {
    node: Arc<Node>,
    /// Maximum number of addresses and topics of a filter.
    terms: u64,
    channels: Mutex<Channels>,
}

#[derive(Default)]
struct Channels {
    last_id: u64,
    by_stream: HashMap<Stream, u64>,
    active: ActiveChannels,
    subscribers: HashMap<u64, u64>,
    /// Start positions of recent subscribers, by start sequence number, until the pump has passed them.
    start_positions: BTreeMap<u64, StepCursor>,
    /// Arrival numbers at which subscribers started, by channel.
    pending_starts: HashMap<u64, BTreeSet<u64>>,
}

impl Subscriptions {
    /// Creates the registry of `node`. A filter may have at most `terms` addresses and topics.
    pub fn new(node: Arc<Node>, terms: u64) -> Self {
        Self { node, terms, channels: Mutex::default() }
    }

    /// Returns the node.
    pub fn node(&self) -> &Arc<Node> {
        &self.node
    }

    /// Parses the parameters of `eth_subscribe` (a JSON array) on an endpoint with `mode`, and subscribes.
    ///
    /// Returns `None` if the cursor is not the newest step: the caller must read the steps after it first.
    pub fn subscribe(&self, params: &[u8], mode: ReadMode) -> Result<Option<Subscription>, RpcError> {
        self.read(params, mode)
            .and_then(|request| SubscriptionAttempt::new(request).run(self))
            .map_err(RpcError::from)
    }

    pub(crate) fn read(&self, params: &[u8], mode: ReadMode) -> Result<SubscribeRequest, Error> {
        SubscribeRequest::parse(params, self.terms, mode)
    }

    /// Removes one subscriber of the channel. The channel closes with its last subscriber.
    pub fn unsubscribe(&self, channel: u64) {
        self.channels.lock().remove_subscriber(&self.node, channel);
    }

    /// Returns a snapshot of the channels.
    pub(crate) fn active(&self) -> ActiveChannels {
        self.channels.lock().active.clone()
    }

    /// Returns the start positions of subscribers that joined after entry `after` of the feed and up to
    /// `upto`. Drops earlier ones.
    pub(crate) fn starts_between(&self, after: u64, upto: u64) -> BTreeMap<u64, StepCursor> {
        let mut channels = self.channels.lock();
        let recent = channels.start_positions.split_off(&(after + 1));
        channels.start_positions = recent;
        channels.start_positions.range(..=upto).map(|(start, cursor)| (*start, *cursor)).collect()
    }

    /// Removes and returns the arrival numbers before `next` at which subscribers of this channel started.
    pub(crate) fn drain_pending_starts(&self, channel: u64, next: u64) -> BTreeSet<u64> {
        let mut channels = self.channels.lock();
        let Some(cuts) = channels.pending_starts.get_mut(&channel) else { return BTreeSet::new() };
        let later = cuts.split_off(&next);
        std::mem::replace(cuts, later)
    }
}

impl Channels {
    /// Adds a subscriber to the channel of `stream`. Each subscriber of `Syncing` has its own channel.
    fn add_subscriber(&mut self, node: &Node, stream: &Stream) -> u64 {
        let shared = self.by_stream.get(stream).filter(|_| *stream != Stream::Syncing).copied();
        let id = shared.unwrap_or_else(|| self.open(node, stream));
        *self.subscribers.entry(id).or_default() += 1;
        id
    }

    fn open(&mut self, node: &Node, stream: &Stream) -> u64 {
        self.last_id += 1;
        let id = self.last_id;
        self.by_stream.insert(stream.clone(), id);
        if let Stream::NewPendingTransactions { full } = stream {
            // Enabled before the number is read, so that every arrival from it on is delivered and stored.
            node.feed().want_arrivals(true);
            if *full {
                node.pool().set_full_transactions(true);
            }
        }
        let first_pending_sequence = node.pool().next_pending_sequence();
        self.active.insert(id, Arc::new(Channel { id, stream: stream.clone(), first_pending_sequence }));
        id
    }

    fn remove_subscriber(&mut self, node: &Node, id: u64) {
        let Some(count) = self.subscribers.get_mut(&id) else { return };
        *count -= 1;
        if *count > 0 {
            return;
        }
        self.subscribers.remove(&id);
        self.pending_starts.remove(&id);
        let Some(channel) = self.active.remove(&id) else { return };
        if self.by_stream.get(&channel.stream) == Some(&id) {
            self.by_stream.remove(&channel.stream);
        }
        if let Stream::NewPendingTransactions { full } = channel.stream {
            let other = Stream::NewPendingTransactions { full: !full };
            node.feed().want_arrivals(self.by_stream.contains_key(&other));
            node.pool().set_full_transactions(!full && self.by_stream.contains_key(&other));
        }
    }
}

/// Subscription in progress. Each of its two steps takes the lock separately.
#[derive(Debug)]
pub(crate) struct SubscriptionAttempt {
    request: SubscribeRequest,
    channel: Option<u64>,
    start: Option<SubscriptionStart>,
}

/// Start of a subscription.
#[derive(Clone, Copy, Debug)]
enum SubscriptionStart {
    From {
        start: u64,
        cursor: StepCursor,
    },
    /// No start: the cursor is not the newest step.
    Behind,
}

/// Progress of a subscription.
#[derive(Debug)]
pub(crate) enum AttemptProgress {
    /// One step remains.
    InProgress,
    /// Not subscribed: the cursor is not the newest step.
    Behind,
    Done(Subscription),
}

impl SubscriptionAttempt {
    pub fn new(request: SubscribeRequest) -> Self {
        Self { request, channel: None, start: None }
    }

    /// Runs all steps. Returns `None` if the cursor is not the newest step.
    pub fn run(mut self, subscriptions: &Subscriptions) -> Result<Option<Subscription>, Error> {
        loop {
            match self.advance(subscriptions)? {
                AttemptProgress::InProgress => {}
                AttemptProgress::Behind => return Ok(None),
                AttemptProgress::Done(subscribed) => return Ok(Some(subscribed)),
            }
        }
    }

    /// Runs the next step.
    pub fn advance(&mut self, subscriptions: &Subscriptions) -> Result<AttemptProgress, Error> {
        if self.channel.is_none() {
            let mut channels = subscriptions.channels.lock();
            self.channel = Some(channels.add_subscriber(&subscriptions.node, &self.request.stream));
        } else if let Err(error) = self.begin(subscriptions) {
            self.leave(subscriptions);
            return Err(error);
        }
        let (Some(channel), Some(begun)) = (self.channel, self.start) else {
            return Ok(AttemptProgress::InProgress);
        };
        let SubscriptionStart::From { start, cursor } = begun else {
            self.leave(subscriptions);
            return Ok(AttemptProgress::Behind);
        };
        let messages = (self.request.stream == Stream::Syncing).then(|| vec!["false".to_owned()]);
        let first = messages.map(|list| Notification {
            channel,
            sequence: start,
            messages: Some(list),
            deferred: None,
            cursor,
        });
        Ok(AttemptProgress::Done(Subscription { channel, start, first }))
    }

    /// Determines the start and registers it for the pump.
    fn begin(&mut self, subscriptions: &Subscriptions) -> Result<(), Error> {
        let node = &subscriptions.node;
        let mut channels = subscriptions.channels.lock();
        let (newest, view) = node.feed().newest().ok_or(Error::Starting)?;
        let cursor = view.cursor();
        if self.request.cursor.is_some_and(|from| from.part.is_some() || from.step != cursor) {
            self.start = Some(SubscriptionStart::Behind);
            return Ok(());
        }
        let start = if let Stream::NewPendingTransactions { .. } = self.request.stream {
            let next = node.pool().next_pending_sequence();
            if let Some(channel) = self.channel {
                channels.pending_starts.entry(channel).or_default().insert(next);
            }
            next
        } else {
            // Recorded even if another subscriber started at this position: the chain may have left it and
            // returned.
            channels.start_positions.insert(newest + 1, cursor);
            newest + 1
        };
        self.start = Some(SubscriptionStart::From { start, cursor });
        Ok(())
    }

    fn leave(&mut self, subscriptions: &Subscriptions) {
        if let Some(channel) = self.channel.take() {
            subscriptions.unsubscribe(channel);
        }
    }
}
