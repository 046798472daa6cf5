#![doc = include_str!("../README.md")]

mod api;
mod attempt;
mod block_parts;
mod blocks;
mod calls;
mod chain;
mod config;
mod development;
mod discover;
mod errors;
mod fees;
mod filters;
mod finality;
mod json;
mod logs;
mod params;
pub mod plain;
mod preconfirmation;
mod proofs;
mod question;
mod raw;
mod rendered;
mod revert;
mod rpc_error;
mod send_sync;
mod simulate;
mod state;
mod storage_values;
mod submissions;
mod submit;
mod subscriptions;
mod table;
#[cfg(test)]
mod tests;
pub mod texts;
mod traces;
mod transaction_status;
mod transactions;
mod txpool;
mod wait;

pub use api::{Api, Context, Limits, Reply};
pub use attempt::Attempt;
pub use development::{Development, DevelopmentError, Key};
pub use discover::openrpc;
pub use errors::{Error, Limit, LogLimit, LogLimitKind, RangeError};
pub use filters::FilterKeeper;
pub use params::{Params, ParamsError};
pub use preconfirmation::{
    Contradiction, Evidence, Misfit, MisfitError, PreconfirmationReceipt, UnsignedError,
    VerifiedPreconfirmation, contradiction,
};
pub use rpc_error::RpcError;
pub use send_sync::SyncError;
pub use submissions::{Answered, Submissions};
pub use subscriptions::{Notice, Pump, Sink, Subscribed, Subscriptions};
pub use table::{Access, Argument, Cost, Kind, Method, method, methods};
pub use wait::Wait;
