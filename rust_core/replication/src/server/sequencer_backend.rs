//! The sequencer behind a server.

use std::time::Duration;

use alloy_primitives::Bytes;
use foreseal_store::DamageReport;

use crate::{
    follower::SubmissionCallback,
    phase::Phase,
    server::ConnectionOrigin,
    wire::{SequencerReport, Welcome},
};

/// The sequencer whose followers a server serves. No method blocks on a follower.
pub trait SequencerBackend: Send + Sync {
    fn phase(&self) -> Phase;

    /// Returns the status of which followers are notified.
    fn report(&self) -> SequencerReport;

    /// Returns the epoch of the owner in [`Self::report`]. Sessions call it before each frame, so it should cost less
    /// than the whole report.
    fn owner_epoch(&self) -> Option<u64> {
        self.report().owner.map(|owner| owner.epoch)
    }

    /// Returns the time since the last tick.
    fn age(&self) -> Duration;

    /// Returns the number of the newest sealed block that is visible; 0 if there is none.
    fn latest(&self) -> u64;

    /// Admits an encoded submission that a follower forwarded. If `runnable` is set, it is rejected unless it
    /// can be executed in the next step. Calls `reply` once its effects on the pool are in the log of frames,
    /// possibly later and on another thread. A submission from another machine is checked like that of a client.
    fn admit(&self, submission: Bytes, runnable: bool, origin: ConnectionOrigin, reply: SubmissionCallback);

    /// Returns the settings of block production for the greeting.
    fn welcome(&self) -> Welcome;

    /// Returns the answer to a query of a follower; `None` if the query is malformed.
    fn answer(&self, query: &[u8]) -> Option<Vec<u8>>;

    /// Handles the report of a follower that found damage in the store.
    fn confirm_damage(&self, report: &DamageReport, follower: &str);

    /// Ends production: `reason` proves that the journal has lost append `sequence`, which was visible.
    fn end_for_lost_append(&self, sequence: u64, reason: String);
}
