#![doc = include_str!("../README.md")]

mod attributes;
mod connection_places;
mod engine;
mod errors;
mod flashblocks;
mod fork_choice;
mod json_rpc;
mod listener;
mod metrics;
mod payload;
mod payload_methods;
mod server;
mod token;

pub use engine::{Engine, RequestHandler};
pub use errors::{EngineError, ErrorObject};
pub use flashblocks::FlashblocksServer;
pub use metrics::{CallMetrics, EngineMetrics};
pub use server::EngineServer;
pub use token::{SecretError, TokenError, TokenSecret};
