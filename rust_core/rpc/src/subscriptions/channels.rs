//! Who listens to what.
//!
//! ```text
//!   subscribe:  enter (the stream has a channel)  ->  begin (behind the newest entry of the feed)
//!   pump:       take entries  ->  look up the channels  ->  render and hand over
//! ```
//! Whatever is published after `begin` looked is rendered for a channel that was there before: the pump looks for channels
//! after it took the entry. So no lock is held over both, and none while rendering.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
};

use foreseal_node::{Node, Place};
use foreseal_types::mutant;
use imbl::OrdMap;
use parking_lot::Mutex;

use super::{Notice, Request, SUBSCRIBE, Stream};
use crate::{Error, RpcError, params::Params};

/// A stream that somebody listens to.
#[derive(Debug)]
pub struct Channel {
    /// Never used again.
    pub id: u64,
    pub stream: Stream,
    /// Number of the first arrival in the pool that is told here.
    pub arrivals: u64,
}

/// Channels by id.
pub type Listening = OrdMap<u64, Arc<Channel>>;

/// A subscription.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subscribed {
    pub channel: u64,
    /// Notices of the channel with this sequence number or a greater one belong to it.
    pub start: u64,
    /// What it is told at once.
    pub first: Option<Notice>,
}

/// The channels of a node and how many subscribers each has.
pub struct Subscriptions {
    node: Arc<Node>,
    /// Addresses and topics that a filter may name.
    terms: u64,
    channels: Mutex<Channels>,
}

#[derive(Default)]
struct Channels {
    made: u64,
    by_stream: HashMap<Stream, u64>,
    listening: Listening,
    subscribers: HashMap<u64, u64>,
    /// Where subscribers began of whom the pump may not know yet, by their start.
    joins: BTreeMap<u64, Place>,
    /// By channel: numbers of arrivals with which somebody began.
    cuts: HashMap<u64, BTreeSet<u64>>,
}

impl Subscriptions {
    /// Of `node`; a filter may name so many addresses and topics.
    pub fn new(node: Arc<Node>, terms: u64) -> Self {
        Self { node, terms, channels: Mutex::default() }
    }

    /// The node.
    pub fn node(&self) -> &Arc<Node> {
        &self.node
    }

    /// Reads the parameters of `eth_subscribe` (a JSON array) and subscribes. With a cursor: `None` while that is not the
    /// newest step, so that what comes after it has to be read first.
    pub fn subscribe(&self, params: &[u8]) -> Result<Option<Subscribed>, RpcError> {
        self.read(params).and_then(|request| Joining::new(request).run(self)).map_err(RpcError::from)
    }

    pub(crate) fn read(&self, params: &[u8]) -> Result<Request, Error> {
        let mut params = Params::parse(params, SUBSCRIBE.name, SUBSCRIBE.arguments)?;
        Request::read(&mut params, self.terms)
    }

    /// One subscriber of the channel less. A channel without any goes.
    pub fn unsubscribe(&self, channel: u64) {
        self.channels.lock().leave(&self.node, channel);
    }

    /// The channels as they are now.
    pub(crate) fn listening(&self) -> Listening {
        self.channels.lock().listening.clone()
    }

    /// Where those began who joined behind entry `after` of the feed, up to behind `upto`; earlier ones are forgotten.
    pub(crate) fn joined(&self, after: u64, upto: u64) -> BTreeMap<u64, Place> {
        let mut channels = self.channels.lock();
        let recent = channels.joins.split_off(&(after + 1));
        channels.joins = recent;
        channels.joins.range(..=upto).map(|(start, place)| (*start, *place)).collect()
    }

    /// The numbers before `next` with which subscribers of a channel for arrivals began. They are forgotten.
    pub(crate) fn cuts(&self, channel: u64, next: u64) -> BTreeSet<u64> {
        let mut channels = self.channels.lock();
        let Some(cuts) = channels.cuts.get_mut(&channel) else { return BTreeSet::new() };
        let later = cuts.split_off(&next);
        std::mem::replace(cuts, later)
    }
}

impl Channels {
    /// The channel of `stream` has a subscriber more. `Syncing` is told to each subscriber by itself.
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
            // Ahead of the number: whatever enters from it on is told, and kept.
            node.feed().want_arrivals(true);
            if *full {
                node.pool().keep_arrivals(true);
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
            node.pool().keep_arrivals(!full && self.by_stream.contains_key(&other));
        }
    }
}

/// A subscription on its way in. Each of its two steps takes the lock by itself.
#[derive(Debug)]
pub(crate) struct Joining {
    request: Request,
    channel: Option<u64>,
    begun: Option<Begun>,
}

/// Where a subscription begins.
#[derive(Clone, Copy, Debug)]
enum Begun {
    From {
        start: u64,
        place: Place,
    },
    /// Nowhere: its cursor is not the newest step.
    Behind,
}

/// How far a subscription is.
#[derive(Debug)]
pub(crate) enum Progress {
    /// A step is left.
    Underway,
    /// It is not made: its cursor is not the newest step.
    Behind,
    Made(Subscribed),
}

impl Joining {
    pub fn new(request: Request) -> Self {
        Self { request, channel: None, begun: None }
    }

    /// All steps. `None` if the cursor is not the newest step.
    pub fn run(mut self, subscriptions: &Subscriptions) -> Result<Option<Subscribed>, Error> {
        loop {
            match self.advance(subscriptions)? {
                Progress::Underway => {}
                Progress::Behind => return Ok(None),
                Progress::Made(subscribed) => return Ok(Some(subscribed)),
            }
        }
    }

    /// The next step.
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
        let Begun::From { start, place } = begun else {
            self.leave(subscriptions);
            return Ok(Progress::Behind);
        };
        let said = (self.request.stream == Stream::Syncing).then(|| vec!["false".to_owned()]);
        let first = said.map(|said| Notice { channel, sequence: start, messages: Some(said), place });
        Ok(Progress::Made(Subscribed { channel, start, first }))
    }

    /// Finds out where it begins, and lets the pump know.
    fn begin(&mut self, subscriptions: &Subscriptions) -> Result<(), Error> {
        let node = &subscriptions.node;
        let mut channels = subscriptions.channels.lock();
        let (newest, view) = node.feed().newest().ok_or(Error::Starting)?;
        let place = view.place();
        if self.request.cursor.is_some_and(|cursor| cursor != place) {
            self.begun = Some(Begun::Behind);
            return Ok(());
        }
        let start = if let Stream::NewPendingTransactions { .. } = self.request.stream {
            let next = node.pool().next_arrival();
            if let Some(channel) = self.channel {
                channels.cuts.entry(channel).or_default().insert(next);
            }
            next
        } else {
            // Also where another one began at this place: the chain may have left it and come back.
            channels.joins.insert(newest + 1, place);
            newest + 1
        };
        self.begun = Some(Begun::From { start, place });
        Ok(())
    }

    fn leave(&mut self, subscriptions: &Subscriptions) {
        if let Some(channel) = self.channel.take() {
            subscriptions.unsubscribe(channel);
        }
    }
}
