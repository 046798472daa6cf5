//! Notification to the subscribers of a channel.

use foreseal_chain::StepCursor;

use super::deferred_messages::DeferredMessages;

/// Notification to the subscribers of a channel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notification {
    pub channel: u64,
    /// Sequence number, which selects the subscriptions that it belongs to: see
    /// [`Subscription::start`](super::channels::Subscription::start).
    pub sequence: u64,
    /// Messages, each the JSON of a `result`; at least one, unless they are deferred.
    ///
    /// `None` means that messages were lost: subscriptions that started at this sequence number or before
    /// must end.
    pub messages: Option<Vec<String>>,
    /// Messages that are rendered on request, because they are large together; `messages` is then empty.
    pub deferred: Option<DeferredMessages>,
    /// Newest step after this notification.
    pub cursor: StepCursor,
}
