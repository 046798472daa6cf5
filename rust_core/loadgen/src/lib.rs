#![doc = include_str!("../README.md")]

mod connection;
mod message;
mod plan;
mod responder;
mod response;
mod response_check;
mod run;
mod run_metrics;
mod signing;
mod subscribers;
mod target;

pub use message::{BadMessage, Message, MessageReader};
pub use plan::{Pace, Plan, Transport};
pub use responder::Responder;
pub use response::{InvalidResponse, Response, ResponseReader};
pub use response_check::check_response;
pub use run::{LoadError, ProgressCheck, run};
pub use run_metrics::{FailedResponse, Latency, RunMetrics};
pub use signing::{SignedTransaction, Signer, SigningError, TransferSpec};
pub use subscribers::{SubscriberMetrics, Subscribers};
pub use target::{Target, TargetError, masked};
