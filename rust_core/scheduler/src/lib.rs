#![doc = include_str!("../README.md")]

mod caller;
mod fair_queue;
mod job;
mod lane;
mod metrics;
mod running_job;
mod scheduler;
mod stopped;
mod thread;

pub use caller::{Caller, CallerCpuBudget, Exhausted, Priority};
pub use fair_queue::{FairQueue, PoppedItem, QUANTUM};
pub use job::{Job, Work};
pub use lane::{Lane, LaneConfig};
pub use metrics::{BOUNDS, LaneStatus, QueueTime};
pub use running_job::{
    LongOperation, arrival, begin_operation, charge_ahead, checkpoint, record_late, running_public_caller,
};
pub use scheduler::{Scheduler, SchedulerHandle, SubmitError};
pub use stopped::Stopped;
pub use thread::lower_priority;
