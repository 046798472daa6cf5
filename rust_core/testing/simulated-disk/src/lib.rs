//! A disk for tests that tracks synced data separately from data that was only written.
//!
//! Reads see every write at once, as through a page cache. [`SimulatedDisk::lose_power`] preserves the synced
//! data. The seed decides how much of the rest survives: nothing, all, the first part, the last part or any
//! sectors. File names survive independently of each other. [`SimulatedDisk::kill`] ends only the process:
//! the cache survives. [`SimulatedDisk::fail_at`] makes one operation fail, [`SimulatedDisk::set_fault_policy`] any
//! of them.

mod content;
mod disk_fault;
mod simulated_disk;

pub use disk_fault::{DiskFault, FaultPolicy, Operation};
pub use simulated_disk::SimulatedDisk;
