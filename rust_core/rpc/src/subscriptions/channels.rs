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

use foreseal_chain::StepCursor;
use foreseal_node::Node;
use foreseal_primitives::mutant;
use imbl::OrdMap;
use parking_lot::Mutex;

use super::{
    Notification,
    stream::{Request, Stream},
};
use crate::{Error, RpcError};

/// Stream that has subscribers.
#[derive(Debug)]
pub struct Channel {
    /// Id of the channel; never reused.
    pub id: u64,
    pub stream: Stream,
    /// Number of the first pool arrival that this channel delivers.
    pub arrivals: u64,
}

/// Channels by id.
pub type Listening = OrdMap<u64, Arc<Channel>>;

/// Result of a subscription.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subscribed {
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
    made: u64,
    by_stream: HashMap<Stream, u64>,
    listening: Listening,
    subscribers: HashMap<u64, u64>,
    /// Start positions of recent subscribers, by start sequence number, until the pump has passed them.
    joins: BTreeMap<u64, StepCursor>,
    /// Arrival numbers at which subscribers started, by channel.
    cuts: HashMap<u64, BTreeSet<u64>>,
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

    /// Parses the parameters of `eth_subscribe` (a JSON array) and subscribes.
    ///
    /// Returns `None` if the cursor is not the newest step: the caller must read the steps after it first.
    pub fn subscribe(&self, params: &[u8]) -> Result<Option<Subscribed>, RpcError> {
        self.read(params).and_then(|request| Joining::new(request).run(self)).map_err(RpcError::from)
    }

    pub(crate) fn read(&self, params: &[u8]) -> Result<Request, Error> {
        Request::parse(params, self.terms)
    }

    /// Removes one subscriber of the channel. The channel closes with its last subscriber.
    pub fn unsubscribe(&self, channel: u64) {
        self.channels.lock().leave(&self.node, channel);
    }

    /// Returns a snapshot of the channels.
    pub(crate) fn listening(&self) -> Listening {
        self.channels.lock().listening.clone()
    }

    /// Returns the start positions of subscribers that joined after entry `after` of the feed and up to
    /// `upto`. Drops earlier ones.
    pub(crate) fn joined(&self, after: u64, upto: u64) -> BTreeMap<u64, StepCursor> {
        let mut channels = self.channels.lock();
        let recent = channels.joins.split_off(&(after + 1));
        channels.joins = recent;
        channels.joins.range(..=upto).map(|(start, place)| (*start, *place)).collect()
    }

    /// Removes and returns the arrival numbers before `next` at which subscribers of this channel started.
    pub(crate) fn cuts(&self, channel: u64, next: u64) -> BTreeSet<u64> {
        let mut channels = self.channels.lock();
        let Some(cuts) = channels.cuts.get_mut(&channel) else { return BTreeSet::new() };
        let later = cuts.split_off(&next);
        std::mem::replace(cuts, later)
    }
}

impl Channels {
    /// Adds a subscriber to the channel of `stream`. Each subscriber of `Syncing` has its own channel.
    fn enter(&mut self, node: &Node, stream: &Stream) -> u64 {
        let shared = self.by_stream.get(stream).filter(|_| *stream != Stream::Syncing).copied();
        let id = shared.unwrap_or_else(|| self.open(node, stream));
        *self.subscribers.entry(id).or_default() += 1;
        id
    }

    fn open(&mut self, node: &Node, stream: &Stream) -> u64 {
        self.made += 1;
        let id = self.made;
        self.by_stream.insert(stream.clone(), id);
        if let Stream::NewPendingTransactions { full } = stream {
            // Enabled before the number is read, so that every arrival from it on is delivered and stored.
            node.feed().want_arrivals(true);
            if *full {
                node.pool().set_arrivals_wanted(true);
            }
        }
        let arrivals = node.pool().next_arrival();
        self.listening.insert(id, Arc::new(Channel { id, stream: stream.clone(), arrivals }));
        id
    }

    fn leave(&mut self, node: &Node, id: u64) {
        let Some(count) = self.subscribers.get_mut(&id) else { return };
        *count -= 1;
        if *count > 0 {
            return;
        }
        self.subscribers.remove(&id);
        self.cuts.remove(&id);
        let Some(channel) = self.listening.remove(&id) else { return };
        if self.by_stream.get(&channel.stream) == Some(&id) {
            self.by_stream.remove(&channel.stream);
        }
        if let Stream::NewPendingTransactions { full } = channel.stream {
            let other = Stream::NewPendingTransactions { full: !full };
            node.feed().want_arrivals(self.by_stream.contains_key(&other));
            node.pool().set_arrivals_wanted(!full && self.by_stream.contains_key(&other));
        }
    }
}

/// Subscription in progress. Each of its two steps takes the lock separately.
#[derive(Debug)]
pub(crate) struct Joining {
    request: Request,
    channel: Option<u64>,
    begun: Option<SubscriptionStart>,
}

/// Start of a subscription.
#[derive(Clone, Copy, Debug)]
enum SubscriptionStart {
    From {
        start: u64,
        place: StepCursor,
    },
    /// No start: the cursor is not the newest step.
    Behind,
}

/// Progress of a subscription.
#[derive(Debug)]
pub(crate) enum Progress {
    /// One step remains.
    Underway,
    /// Not subscribed: the cursor is not the newest step.
    Behind,
    Made(Subscribed),
}

impl Joining {
    pub fn new(request: Request) -> Self {
        Self { request, channel: None, begun: None }
    }

    /// Runs all steps. Returns `None` if the cursor is not the newest step.
    pub fn run(mut self, subscriptions: &Subscriptions) -> Result<Option<Subscribed>, Error> {
        loop {
            match self.advance(subscriptions)? {
                Progress::Underway => {}
                Progress::Behind => return Ok(None),
                Progress::Made(subscribed) => return Ok(Some(subscribed)),
            }
        }
    }

    /// Runs the next step.
    pub fn advance(&mut self, subscriptions: &Subscriptions) -> Result<Progress, Error> {
        let begins_first = mutant!("begin-before-listening");
        if self.channel.is_none() && (!begins_first || self.begun.is_some()) {
            let mut channels = subscriptions.channels.lock();
            self.channel = Some(channels.enter(&subscriptions.node, &self.request.stream));
        } else if let Err(error) = self.begin(subscriptions) {
            self.leave(subscriptions);
            return Err(error);
        }
        let (Some(channel), Some(begun)) = (self.channel, self.begun) else { return Ok(Progress::Underway) };
        let SubscriptionStart::From { start, place } = begun else {
            self.leave(subscriptions);
            return Ok(Progress::Behind);
        };
        let said = (self.request.stream == Stream::Syncing).then(|| vec!["false".to_owned()]);
        let first = said.map(|said| Notification { channel, sequence: start, messages: Some(said), place });
        Ok(Progress::Made(Subscribed { channel, start, first }))
    }

    /// Determines the start and registers it for the pump.
    fn begin(&mut self, subscriptions: &Subscriptions) -> Result<(), Error> {
        let node = &subscriptions.node;
        let mut channels = subscriptions.channels.lock();
        let (newest, view) = node.feed().newest().ok_or(Error::Starting)?;
        let place = view.cursor();
        if self.request.cursor.is_some_and(|cursor| cursor != place) {
            self.begun = Some(SubscriptionStart::Behind);
            return Ok(());
        }
        let start = if let Stream::NewPendingTransactions { .. } = self.request.stream {
            let next = node.pool().next_arrival();
            if let Some(channel) = self.channel {
                channels.cuts.entry(channel).or_default().insert(next);
            }
            next
        } else {
            // Recorded even if another subscriber started at this position: the chain may have left it and
            // returned.
            channels.joins.insert(newest + 1, place);
            newest + 1
        };
        self.begun = Some(SubscriptionStart::From { start, place });
        Ok(())
    }

    fn leave(&mut self, subscriptions: &Subscriptions) {
        if let Some(channel) = self.channel.take() {
            subscriptions.unsubscribe(channel);
        }
    }
}
