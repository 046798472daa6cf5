#![doc = include_str!("../README.md")]

mod cpu_quota;
mod memory;
mod quota;
mod sync;
mod table;

pub use cpu_quota::{CpuQuota, MAX_CPU_RATE};
pub use memory::{HEAD, LINE, SECRET, TableError};
pub use quota::{MAX_WINDOW, Quota};
pub use table::RateLimitTable;
