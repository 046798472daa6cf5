#![doc = include_str!("../README.md")]

mod answer_size;
mod api;
mod argument;
mod block_contents;
mod block_json_cache;
mod blocks;
mod call_args;
mod calls;
mod chain;
mod cluster;
mod config;
mod context;
mod development;
mod discover;
mod errors;
mod estimates;
mod fees;
mod fill_transaction;
mod filters;
mod finality;
mod json;
mod json_caches;
mod large_answers;
mod limits;
mod log_json_cache;
mod logs;
mod method;
mod pace;
mod panic_guard;
mod params;
mod preconfirmation;
mod proofs;
mod raw;
mod receipt;
mod receipt_wait;
mod request;
mod reread;
mod revert;
mod rpc_error;
mod send_sync;
mod simulate;
mod state;
mod storage_values;
mod submit;
mod subscriptions;
mod table;
#[cfg(test)]
mod tests;
mod traces;
mod transaction_status;
mod transactions;
mod txpool;
mod wait;

pub use api::Api;
pub use argument::{Argument, Kind};
pub use context::Context;
pub use development::{Development, DevelopmentError, Key};
pub use errors::{Error, Limit, LogLimit, LogLimitKind, RangeError, SyncError};
pub use filters::FilterClient;
pub use limits::Limits;
pub use method::{Access, ExecutionMode, Method};
pub use params::{Params, ParamsError};
pub use preconfirmation::{
    Contradiction, Evidence, InvalidReceipt, InvalidReceiptError, PreconfirmationReceipt, UnsignedError,
    VerifiedPreconfirmation, contradiction,
};
pub use request::{
    BodyLimits, BodyProgress, BodyReply, CallerBudget, Costs, CountedCalls, Entered, Entrance,
    EntranceLimits, FailedCalls, HttpStatus, InlineAttempt, Lanes, PendingBody, Progress, Refusal, ReplyJson,
    RequestCaller, SlowCall, Submissions, Wake, ws_frame,
};
pub use rpc_error::RpcError;
pub use subscriptions::{
    DeferredChunk, DeferredMessages, DeliveryPump, Notification, Sink, Subscription, Subscriptions,
};
pub use table::{method, methods, openrpc};
pub use wait::{PendingCall, PendingVerification, Reply};
