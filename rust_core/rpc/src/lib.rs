#![doc = include_str!("../README.md")]

mod api;
mod block_parts;
mod blocks;
mod calls;
mod chain;
mod errors;
mod fees;
mod json;
mod logs;
mod params;
mod raw;
mod revert;
mod state;
mod submit;
mod table;
#[cfg(test)]
mod tests;
mod transactions;

pub use api::{Api, Context, Limits};
pub use errors::{Error, LogLimit, LogLimitKind, RangeError, RpcError};
pub use params::{Params, ParamsError};
pub use table::{Argument, Cost, Kind, Method, Run, method, methods};
