//! Faults of the disk, and the policy that chooses them.

/// Failure mode of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiskFault {
    /// The machine stops: this operation and all later ones fail, until [`lose_power`] or [`kill`].
    /// The effect of this operation takes place, unsynced.
    ///
    /// [`lose_power`]: crate::SimulatedDisk::lose_power
    /// [`kill`]: crate::SimulatedDisk::kill
    Crash,
    /// The disk is full: a file is created without its bytes, a write has no effect.
    Full,
    /// A write does half of its bytes and returns that number. Other operations fail.
    Short,
    /// The device fails: a write has done half of its bytes when it returns an error. A failed sync discards
    /// the dirty data: reads continue to return it, but no later sync writes it.
    Broken,
    /// A sync returns success but nothing is durable: reads continue to return the dirty data, but no later
    /// sync writes it. Other operations succeed.
    Lost,
}

/// An operation that changes or syncs data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    CreateDir,
    Create,
    Write { offset: u64 },
    Sync,
    SyncDir,
    Remove,
    Rename,
}

/// Decides for each operation how it fails, if it fails.
pub trait FaultPolicy: Send {
    /// Returns the fault of an operation that is about to run, if any. Must not use the disk.
    fn judge(&mut self, operation: Operation) -> Option<DiskFault>;
}
