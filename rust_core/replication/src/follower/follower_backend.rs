//! The node behind a follower.

use std::{sync::Arc, time::Duration};

use foreseal_chain::View;

use crate::{phase::Phase, wire::Heartbeat};

/// The node whose readers see what a follower receives from the sequencer.
pub trait FollowerBackend: Send + Sync {
    /// Returns the newest published view.
    fn view(&self) -> Option<Arc<View>>;

    /// Publishes a view to readers.
    fn publish(&self, view: Arc<View>);

    fn set_phase(&self, phase: Phase);

    /// Returns `true` while this process follows; a standby that took over does not.
    fn is_following(&self) -> bool;

    /// Records that a frame from the sequencer arrived.
    fn frame_arrived(&self);

    /// Records the sequencer's heartbeat, which determines the freshness that readers see.
    fn record_heartbeat(&self, heartbeat: &Heartbeat);

    /// Notifies readers that the content of the pool has changed.
    fn pool_changed(&self);

    /// Wakes all threads that wait for an answer, for a view or for the end of production.
    fn wake_waiters(&self);

    /// Runs `work` on the calling thread, which is the one that follows the chain until `work` returns.
    fn run_following(&self, work: &mut dyn FnMut());

    /// Returns `true` once the node is to stop.
    fn is_stopping(&self) -> bool;

    /// Sleeps for `wait`, or until the node is to stop.
    fn sleep(&self, wait: Duration);
}
