//! What readers may follow: every view in order, and what each adds to the one before.
//!
//! ```text
//!   writer -- publish --> [ newest view | queue: view, view, tick, arrivals ... ] -- take --> one taker
//!                                |                                                              |
//!   readers <----- newest view --+        changes(view, place): Removed, Unsealed, Step, Sealed <-+
//! ```
//!
//! A view goes into the queue under the lock under which it becomes the newest one: whoever looks at both at once knows
//! which entries come after what was seen. What a view adds is not recorded anywhere. It is found by comparing a
//! [`Place`] with the view ([`changes`]), which serves a taker that is one step behind and a client that comes back after a
//! million blocks alike.

mod block_at_step;
mod changes;
mod place;
mod queue;

pub(crate) use block_at_step::Steps;
pub use block_at_step::{BlockAtStep, Change};
pub use changes::{FeedError, changes};
pub use place::Place;
pub use queue::{Entry, Feed, What};
