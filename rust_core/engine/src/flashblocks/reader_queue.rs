//! The queue between the publisher and the connection of one reader.

use std::{collections::VecDeque, sync::Arc};

use parking_lot::Mutex;
use tokio::sync::Notify;

use super::message::FlashblockMessage;

/// Maximum number of bytes that wait for a reader, in addition to the messages of the open block with which it
/// began. All readers share the messages, so this bounds the memory for all of them together.
pub(super) const MAX_QUEUED: usize = 16 << 20;

/// Reason for which a connection ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DisconnectReason {
    /// The reader closed the connection, or it failed.
    Closed,
    /// The reader does not read.
    TooSlow,
    /// The reader answers no pings.
    Silent,
    /// The reader sends too much.
    TooManyMessages,
    /// The node stops.
    Stopping,
    /// The publisher failed.
    Failed,
}

/// Messages that wait for one reader, which is their only consumer.
#[derive(Debug, Default)]
pub(super) struct ReaderQueue {
    state: Mutex<QueueState>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct QueueState {
    messages: VecDeque<FlashblockMessage>,
    bytes: usize,
    /// `true` once the publisher has admitted the reader.
    is_admitted: bool,
    /// Length of the backlog with which the reader began.
    backlog: usize,
    ended: Option<DisconnectReason>,
}

impl ReaderQueue {
    /// Adds the messages with which the reader begins.
    pub fn begin(&self, backlog: &[FlashblockMessage]) {
        let mut state = self.state.lock();
        state.is_admitted = true;
        state.backlog = backlog.iter().map(FlashblockMessage::len).sum();
        state.bytes = state.backlog;
        state.messages = backlog.iter().cloned().collect();
        drop(state);
        self.changed.notify_one();
    }

    /// Adds a message. Ends the connection if too much waits for the reader already. Returns `false` if the
    /// connection has ended.
    pub fn push(&self, message: &FlashblockMessage) -> bool {
        let mut state = self.state.lock();
        if state.ended.is_some() {
            return false;
        }
        if !state.messages.is_empty() && state.bytes + message.len() > MAX_QUEUED + state.backlog {
            drop(state);
            self.end(DisconnectReason::TooSlow);
            return false;
        }
        state.bytes += message.len();
        state.messages.push_back(message.clone());
        drop(state);
        self.changed.notify_one();
        true
    }

    /// Ends the connection; the first reason stays.
    pub fn end(&self, reason: DisconnectReason) {
        let mut state = self.state.lock();
        state.ended.get_or_insert(reason);
        state.messages.clear();
        state.bytes = 0;
        drop(state);
        self.changed.notify_one();
    }

    /// Returns the reason if the connection has ended.
    pub fn ended(&self) -> Option<DisconnectReason> {
        self.state.lock().ended
    }

    /// Removes the next message. Waits until there is one.
    ///
    /// # Errors
    /// Returns the reason if the connection has ended.
    pub async fn next(&self) -> Result<FlashblockMessage, DisconnectReason> {
        self.wait_until(QueueState::try_next).await
    }

    /// Waits until the publisher has admitted the reader.
    ///
    /// # Errors
    /// Returns the reason if the connection has ended.
    pub async fn wait_for_admission(&self) -> Result<(), DisconnectReason> {
        self.wait_until(|state| state.ended.map(Err).or(state.is_admitted.then_some(Ok(())))).await
    }

    /// Waits until the connection has ended.
    pub async fn wait_for_end(&self) -> DisconnectReason {
        self.wait_until(|state| state.ended).await
    }

    /// Waits until `look` finds something in the state.
    async fn wait_until<T>(&self, look: impl Fn(&mut QueueState) -> Option<T>) -> T {
        loop {
            if let Some(value) = look(&mut self.state.lock()) {
                return value;
            }
            self.changed.notified().await;
        }
    }
}

impl QueueState {
    /// Removes the next message; returns the reason if the connection has ended.
    fn try_next(&mut self) -> Option<Result<FlashblockMessage, DisconnectReason>> {
        if let Some(reason) = self.ended {
            return Some(Err(reason));
        }
        let message = self.messages.pop_front()?;
        self.bytes -= message.len();
        Some(Ok(message))
    }
}

/// Readers that the publisher has yet to admit.
pub(super) type JoiningReaders = Arc<Mutex<Vec<Arc<ReaderQueue>>>>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_queue_ends_the_connection() {
        let queue = ReaderQueue::default();
        let half = FlashblockMessage::with_length(MAX_QUEUED / 2);
        assert!(queue.push(&half) && queue.push(&half));
        assert!(!queue.push(&FlashblockMessage::with_length(1)));
        assert_eq!(queue.state.lock().try_next().map(Result::err), Some(Some(DisconnectReason::TooSlow)));
        queue.end(DisconnectReason::Stopping);
        assert_eq!(queue.ended(), Some(DisconnectReason::TooSlow));
    }

    #[test]
    fn the_messages_of_the_open_block_do_not_count() {
        let queue = ReaderQueue::default();
        queue.begin(&[FlashblockMessage::with_length(MAX_QUEUED * 2)]);
        assert!(queue.push(&FlashblockMessage::with_length(MAX_QUEUED)));
        assert!(!queue.push(&FlashblockMessage::with_length(1)));
    }

    #[test]
    fn a_single_message_may_have_any_length() {
        let queue = ReaderQueue::default();
        for _ in 0..3 {
            assert!(queue.push(&FlashblockMessage::with_length(MAX_QUEUED * 2)));
            assert!(queue.state.lock().try_next().is_some_and(|next| next.is_ok()));
        }
    }
}
