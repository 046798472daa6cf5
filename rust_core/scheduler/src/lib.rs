#![doc = include_str!("../README.md")]

mod caller;
mod clock;
mod fair_queue;
mod job;
mod lane;
mod metrics;
mod running_job;
mod scheduler;
mod stopped;

pub use caller::{Caller, CpuBudget, Exhausted, Priority};
pub use clock::lower_priority;
pub use fair_queue::{FairQueue, PoppedItem, QUANTUM};
pub use job::{Job, Work};
pub use lane::{Lane, LaneConfig};
pub use metrics::{BOUNDS, LaneStatus, QueueTime};
pub use running_job::{arrival, checkpoint, record_late};
pub use scheduler::{Scheduler, SubmitError};
pub use stopped::Stopped;
