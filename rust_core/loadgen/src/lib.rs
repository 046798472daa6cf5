#![doc = include_str!("../README.md")]

mod answer;
mod connection;
mod message;
mod plan;
mod responder;
mod run;
mod run_metrics;
mod signing;
mod subscribers;
mod target;
mod verdict;

pub use answer::{Answer, AnswerReader, BadAnswer};
pub use message::{BadMessage, Message, MessageReader};
pub use plan::{Pace, Plan, Transport};
pub use responder::Responder;
pub use run::{LoadError, ProgressCheck, run};
pub use run_metrics::{FailedResponse, Latency, RunMetrics};
pub use signing::{Order, Signed, Signer, SigningError};
pub use subscribers::{Arrivals, Subscribers};
pub use target::{Target, TargetError, masked};
pub use verdict::verdict;
