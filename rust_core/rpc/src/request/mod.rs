//! Requests: from the bytes of a body to the bytes of its response.
//!
//! ```text
//! body -> envelope -> calls -> charged -> method -> on the receiving thread ---> answer --> response
//!                                           |-----> in a lane of the worker pool ---^
//!                                           '-----> in Python, which owns the method
//! ```
//! A body whose calls are all answered at once needs one call of
//! [`Entrance::respond`](entrance::Entrance::respond). Any other one becomes a
//! [`PendingBody`](pending_body::PendingBody) with the answers that it already has, which continues from there.

pub mod answers;
pub mod api;
pub mod attempt;
pub mod backoff;
pub mod body_state;
pub mod call_counts;
pub mod call_runner;
pub mod call_text;
pub mod caller_budget;
pub mod entrance;
pub mod envelope;
pub mod pending_body;
pub mod reread;
pub mod submissions;
pub mod table;
pub mod ws_frame;
