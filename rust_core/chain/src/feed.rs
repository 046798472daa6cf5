//! The feed: every view in order, and the changes from one position to a later view.
//!
//! ```text
//!   writer -- publish --> [ newest view | queue: view, view, tick, arrivals ... ] -- drain --> one consumer
//!                                |                                                               |
//!   readers <----- newest view --+       changes(view, cursor): Removed, Unsealed, Step, Sealed <-+
//! ```
//!
//! A view enters the queue under the same lock under which it becomes the newest one. A reader that takes
//! both under the lock can determine which entries come after its view. The changes in a view are not
//! recorded. [`changes`] computes them by comparing a [`StepCursor`](crate::StepCursor) with the view. This works for a
//! consumer that is one step behind, and for a client that returns after a million blocks.

mod changes;
mod queue;
mod step_logs;

pub use changes::{FeedError, FeedPosition, changes, changes_and_seals, cursor_gone, step_at};
pub use queue::{Entry, EventKind, Feed};
pub use step_logs::{StepLogs, step_with_logs};
