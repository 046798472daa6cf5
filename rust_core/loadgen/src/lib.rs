#![doc = include_str!("../README.md")]

mod answer;
mod connection;
mod figures;
mod message;
mod plan;
mod responder;
mod run;
mod signing;
mod subscribers;
mod target;
mod verdict;

pub use answer::{Answer, AnswerReader, BadAnswer};
pub use figures::{Figures, Latency, Wrong};
pub use message::{BadMessage, Message, MessageReader};
pub use plan::{Pace, Plan, Transport};
pub use responder::Responder;
pub use run::{KeepGoing, LoadError, run};
pub use signing::{Order, Signed, Signer, SigningError};
pub use subscribers::{Arrivals, Subscribers};
pub use target::{Target, TargetError, masked};
pub use verdict::verdict;
