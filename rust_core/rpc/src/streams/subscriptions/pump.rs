//! Delivery of feed entries to the channels.

use std::{
    collections::{BTreeMap, HashMap, VecDeque},
    ops::Range,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    time::Duration,
};

use alloy_primitives::B256;
use foreseal_chain::{Entry, EventKind, FeedError, FeedPosition, StepCursor, View, changes_and_seals};
use foreseal_pool::{PendingLogPage, Pool};
use foreseal_primitives::Transaction;
use foreseal_state::StateError;

use super::{
    channels::{ActiveChannels, Channel, Subscriptions},
    deferred_messages::{DeferredMessages, arrivals_chunk},
    flashblock::write_heartbeat,
    notification::Notification,
    render::{Chunk, ChunkSize, ChunkStart, Messages, Rendering},
    stream::Stream,
};
use crate::json::hex::write_data;

/// Messages of one change, or of the arrivals since the last delivery, that are rendered at once. More are deferred:
/// see [`DeferredMessages`].
const INLINE: ChunkSize = ChunkSize { bytes: 512 << 10, messages: 1024 };

/// Reason for which a change cannot be delivered.
#[derive(Debug, thiserror::Error)]
enum DeliveryError {
    #[error(transparent)]
    Feed(#[from] FeedError),
    #[error("a subscription starts at a step that was skipped")]
    StartSkipped,
}

/// Callback that receives notices in order.
pub type Sink<'a> = &'a mut dyn FnMut(Notification);

/// Pump that takes entries from the feed and delivers them to the channels, rendered once per channel.
///
/// It has no thread: a caller loops over [`Self::wait_for_entries`] and [`Self::deliver`].
pub struct DeliveryPump {
    subscriptions: Arc<Subscriptions>,
    entries: VecDeque<Entry>,
    /// Position after the newest delivered change, and the number of the entry after which it was delivered; `None`
    /// before the first view.
    delivered: Option<(FeedPosition, u64)>,
    /// Number of the next pool arrival, by channel.
    arrivals: HashMap<u64, u64>,
}

impl DeliveryPump {
    /// Creates the pump of a node. A node has only one.
    pub fn new(subscriptions: Arc<Subscriptions>) -> Self {
        Self { subscriptions, entries: VecDeque::new(), delivered: None, arrivals: HashMap::new() }
    }

    /// Takes entries, unless undelivered ones remain. Waits for entries for at most `wait`.
    ///
    /// Returns `true` if there is an entry to deliver.
    pub fn wait_for_entries(&mut self, wait: Duration) -> bool {
        // The feed merges waiting entries, which would accumulate here.
        if self.entries.is_empty() {
            self.entries.extend(self.subscriptions.node().feed().drain(wait));
        }
        !self.entries.is_empty()
    }

    /// Delivers the oldest entry to the channels. Returns `false` if there was none.
    ///
    /// A panic is logged and ends every subscription that may have lost a message.
    pub fn deliver(&mut self, sink: Sink<'_>) -> bool {
        let Some(entry) = self.entries.pop_front() else { return false };
        let listening = self.subscriptions.active();
        let result = catch_unwind(AssertUnwindSafe(|| self.notify(&entry, &listening, sink)));
        match result {
            // A newer view follows one that is gone; it contains the same changes and more.
            Ok(Ok(()) | Err(DeliveryError::Feed(FeedError::Read(StateError::ViewGone)))) => {}
            Ok(Err(error)) => {
                tracing::error!(%error, "subscriptions lost a step");
                self.end_lossy_subscriptions(&entry, &listening, sink);
            }
            Err(_) => {
                tracing::error!(sequence = entry.sequence, "notifying subscriptions panicked");
                self.end_lossy_subscriptions(&entry, &listening, sink);
            }
        }
        true
    }

    fn notify(
        &mut self,
        entry: &Entry,
        listening: &ActiveChannels,
        sink: Sink<'_>,
    ) -> Result<(), DeliveryError> {
        match &entry.what {
            EventKind::View(view) => self.notify_view(entry.sequence, view, listening, sink)?,
            EventKind::Tick => self.notify_tick(entry.sequence, listening, sink),
            EventKind::Arrivals => self.notify_arrivals(listening, sink),
        }
        Ok(())
    }

    /// Delivers the changes between the previous view and this one.
    ///
    /// Views between them may have been skipped, and with them start positions of subscribers. Changes before
    /// such a position have their own sequence number.
    fn notify_view(
        &mut self,
        sequence: u64,
        view: &View,
        listening: &ActiveChannels,
        sink: Sink<'_>,
    ) -> Result<(), DeliveryError> {
        let after = self.delivered.map_or(0, |(_, sequence)| sequence);
        let mut joined = self.subscriptions.starts_between(after, sequence);
        let end = FeedPosition::end_of(view);
        let first = || {
            let start = joined.values().next().filter(|start| **start != end.cursor);
            start.map_or(end, |start| FeedPosition { cursor: *start, sealed: false })
        };
        let (begun, _) = *self.delivered.get_or_insert_with(|| (first(), after));
        drop_passed_starts(&mut joined, begun.cursor);
        let spec = view.spec();
        let delivered = &mut self.delivered;
        let ended = changes_and_seals(view, begun, &mut |change, reached| {
            // Subscribers that start later have a greater start.
            let sequence = joined.keys().next().map_or(sequence, |start| start - 1);
            for channel in listening.values() {
                let rendering = Rendering { stream: &channel.stream, change: &change, spec };
                let Chunk { messages, next } = rendering.chunk(ChunkStart::First, INLINE);
                if next.is_none() {
                    deliver(channel, sequence, messages, reached, sink);
                } else {
                    let deferred = DeferredMessages::new(&channel.stream, &change, spec);
                    sink(Notification {
                        channel: channel.id,
                        sequence,
                        messages: Some(Vec::new()),
                        deferred: Some(deferred),
                        cursor: reached,
                    });
                }
            }
            *delivered = Some((FeedPosition { cursor: reached, sealed: false }, after));
            drop_passed_starts(&mut joined, reached);
        });
        let ended = ended?;
        if joined.is_empty() {
            self.delivered = Some((ended, sequence));
            Ok(())
        } else {
            Err(DeliveryError::StartSkipped)
        }
    }

    fn notify_tick(&mut self, sequence: u64, listening: &ActiveChannels, sink: Sink<'_>) {
        let Some((FeedPosition { cursor, .. }, after)) = self.delivered else { return };
        // A subscriber that started at a skipped view is ahead; the view after the tick delivers its
        // position.
        if self.subscriptions.starts_between(after, sequence).values().any(|began| *began != cursor) {
            return;
        }
        for channel in listening.values().filter(|channel| channel.stream == Stream::Feed) {
            let mut messages = Messages::default();
            messages.write(|out| write_heartbeat(out, &cursor));
            deliver(channel, sequence, messages, cursor, sink);
        }
    }

    fn notify_arrivals(&mut self, listening: &ActiveChannels, sink: Sink<'_>) {
        self.arrivals.retain(|channel, _| listening.contains_key(channel));
        let Some((FeedPosition { cursor, .. }, _)) = self.delivered else { return };
        for channel in listening.values() {
            let Stream::NewPendingTransactions { full } = channel.stream else { continue };
            let next = self.arrivals.entry(channel.id).or_insert(channel.first_pending_sequence);
            let arrived = Arrivals::since(self.subscriptions.node().pool(), full, *next);
            *next = arrived.next;
            let first = arrived.next - arrived.len() as u64;
            let notice = |sequence, messages, deferred| Notification {
                channel: channel.id,
                sequence,
                messages,
                deferred,
                cursor,
            };
            if arrived.missed > 0 {
                tracing::warn!(missed = arrived.missed, "subscriptions lag behind the pool");
                sink(notice(first.saturating_sub(1), None, None));
            }
            // Read after the pool: every subscriber that started before has registered its number.
            let mut starts =
                self.subscriptions.drain_pending_starts(channel.id, arrived.next).split_off(&first);
            starts.insert(first);
            let ends = starts.iter().copied().skip(1).chain([arrived.next]);
            for (start, end) in starts.iter().copied().zip(ends) {
                let index = |number| usize::try_from(number - first).unwrap_or(usize::MAX);
                let (messages, deferred) = arrived.messages(index(start)..index(end));
                if !messages.is_empty() || deferred.is_some() {
                    sink(notice(start, Some(messages), deferred));
                }
            }
        }
    }

    /// Ends the subscriptions that may have lost messages of `entry`, and continues after it.
    fn end_lossy_subscriptions(&mut self, entry: &Entry, listening: &ActiveChannels, sink: Sink<'_>) {
        let position = match (&entry.what, self.delivered) {
            (EventKind::View(view), _) => FeedPosition::end_of(view),
            (EventKind::Tick | EventKind::Arrivals, Some((position, _))) => position,
            (EventKind::Tick | EventKind::Arrivals, None) => return,
        };
        let cursor = position.cursor;
        let of_pool = matches!(entry.what, EventKind::Arrivals);
        self.delivered = Some((position, entry.sequence));
        for channel in listening.values() {
            let sequence = match channel.stream {
                Stream::NewPendingTransactions { .. } if of_pool => {
                    let next = self.subscriptions.node().pool().next_pending_sequence();
                    self.arrivals.insert(channel.id, next);
                    next.saturating_sub(1)
                }
                Stream::NewPendingTransactions { .. } | Stream::Syncing => continue,
                _ if of_pool => continue,
                _ => entry.sequence,
            };
            sink(Notification { channel: channel.id, sequence, messages: None, deferred: None, cursor });
        }
    }
}

/// Recent arrivals in the pool.
struct Arrivals {
    arrived: ArrivedTransactions,
    /// Number of the arrival after the newest one.
    next: u64,
    /// Number of arrivals that are no longer retained.
    missed: u64,
}

enum ArrivedTransactions {
    Hashes(Vec<B256>),
    Full(Vec<Arc<Transaction>>),
}

impl Arrivals {
    /// Returns the arrivals from number `from` on.
    fn since(pool: &Pool, full: bool, from: u64) -> Self {
        if full {
            let PendingLogPage { transactions, next, missed } = pool.full_transactions_since(from);
            return Self { arrived: ArrivedTransactions::Full(transactions), next, missed };
        }
        let PendingLogPage { transactions, next, missed } = pool.pending_hashes_since(from, usize::MAX);
        Self { arrived: ArrivedTransactions::Hashes(transactions), next, missed }
    }

    fn len(&self) -> usize {
        match &self.arrived {
            ArrivedTransactions::Hashes(hashes) => hashes.len(),
            ArrivedTransactions::Full(transactions) => transactions.len(),
        }
    }

    /// Returns the messages of these arrivals. Those that are large together are deferred.
    fn messages(&self, range: Range<usize>) -> (Vec<String>, Option<DeferredMessages>) {
        match &self.arrived {
            ArrivedTransactions::Hashes(hashes) => {
                let mut rendered = Messages::default();
                for hash in &hashes[range] {
                    rendered.write(|out| write_data(out, hash.as_slice()));
                }
                (rendered.into_vec(), None)
            }
            ArrivedTransactions::Full(transactions) => {
                let Chunk { messages, next } =
                    arrivals_chunk(&transactions[range.clone()], ChunkStart::First, INLINE);
                if next.is_none() {
                    return (messages.into_vec(), None);
                }
                (Vec::new(), Some(DeferredMessages::of_arrivals(&transactions[range])))
            }
        }
    }
}

/// Drops the subscribers that started at `cursor`.
fn drop_passed_starts(joined: &mut BTreeMap<u64, StepCursor>, cursor: StepCursor) {
    while joined.first_key_value().is_some_and(|(_, began)| *began == cursor) {
        joined.pop_first();
    }
}

fn deliver(channel: &Channel, sequence: u64, messages: Messages, cursor: StepCursor, sink: Sink<'_>) {
    let messages = messages.into_vec();
    if !messages.is_empty() {
        sink(Notification {
            channel: channel.id,
            sequence,
            messages: Some(messages),
            deferred: None,
            cursor,
        });
    }
}
