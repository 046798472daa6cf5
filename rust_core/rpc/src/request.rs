//! Requests: from the bytes of a body to the bytes of its response.
//!
//! ```text
//! body -> envelope -> calls -> charged -> method -> on the receiving thread ---> answer --> response
//!                                           |-----> in a lane of the worker pool ---^
//!                                           '-----> in Python, which owns the method
//! ```
//! A body whose calls are all answered at once needs one call of [`Entrance::respond`]. Any other one becomes a
//! [`PendingBody`] with the answers that it already has, which continues from there.

mod answers;
mod attempt;
mod backoff;
mod body_state;
mod call_counts;
mod call_runner;
mod call_text;
mod caller_budget;
mod entrance;
pub(crate) mod envelope;
mod pending_body;
mod submissions;
pub mod ws_frame;

pub use answers::{BodyReply, HttpStatus, ReplyJson};
pub use attempt::InlineAttempt;
pub(crate) use attempt::MAX_PARAMS_SIZE;
pub use call_counts::{CountedCalls, FailedCalls, SlowCall};
pub use call_runner::Costs;
pub use caller_budget::{CallerBudget, Refusal};
pub use entrance::{Entered, Entrance, EntranceLimits, RequestCaller};
pub use envelope::BodyLimits;
pub use pending_body::{Lanes, PendingBody, Progress, Wake};
pub use submissions::{BodyProgress, Submissions};
