#![doc = include_str!("../README.md")]

mod context;
mod errors;
mod json;
mod methods;
mod params;
mod request;
mod streams;
#[cfg(test)]
mod tests;

pub use context::{
    call_context::Context,
    keys::{Development, Key},
    limits::Limits,
};
pub use errors::{
    development_error::DevelopmentError,
    error::{Error, Limit, LogLimit, LogLimitKind, RangeError, SyncError},
    rpc_error::RpcError,
    unsigned_error::UnsignedError,
};
pub use methods::{
    method::{Access, ExecutionMode, Method},
    preconfirmation::{
        evidence::{Contradiction, Evidence, contradiction},
        invalid_receipt::{InvalidReceipt, InvalidReceiptError},
        receipt::PreconfirmationReceipt,
        verify::VerifiedPreconfirmation,
    },
};
pub use params::{
    argument::{Argument, Kind},
    invalid::ParamsError,
    positional::Params,
};
pub use request::{
    answers::{BodyReply, HttpStatus, ReplyJson},
    api::Api,
    attempt::InlineAttempt,
    call_counts::{CountedCalls, FailedCalls, SlowCall},
    call_runner::Costs,
    caller_budget::{CallerBudget, Refusal},
    entrance::{Entered, Entrance, EntranceLimits, RequestCaller},
    envelope::general::BodyLimits,
    pending_body::{Lanes, PendingBody, Progress, Wake},
    submissions::{BodyProgress, Submissions},
    table::{method, methods, openrpc},
    ws_frame,
};
pub use streams::{
    filters::backend::FilterClient,
    subscriptions::{
        channels::{Subscription, Subscriptions},
        deferred_messages::{DeferredChunk, DeferredMessages},
        notification::Notification,
        pump::{DeliveryPump, Sink},
    },
    wait::{PendingCall, PendingVerification, Reply},
};
