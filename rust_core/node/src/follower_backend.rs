//! The node behind a follower: what it receives reaches the readers.

use std::{sync::Arc, time::Duration};

use foreseal_chain::View;
use foreseal_replication::{FollowerBackend, Phase, wire::Heartbeat};

use crate::shared_state::SharedState;

impl FollowerBackend for SharedState {
    fn view(&self) -> Option<Arc<View>> {
        self.feed.view()
    }

    fn publish(&self, view: Arc<View>) {
        Self::publish(self, view);
    }

    fn set_phase(&self, phase: Phase) {
        self.set_following_phase(phase);
    }

    fn is_following(&self) -> bool {
        !self.leads()
    }

    fn frame_arrived(&self) {
        self.record_frame();
    }

    fn record_heartbeat(&self, heartbeat: &Heartbeat) {
        self.record_sequencer_tick(heartbeat.age, heartbeat.ticked);
    }

    fn pool_changed(&self) {
        self.feed.arrived();
    }

    fn wake_waiters(&self) {
        self.changes.notify();
    }

    fn run_following(&self, work: &mut dyn FnMut()) {
        let _working = self.activity.work();
        work();
    }

    fn is_stopping(&self) -> bool {
        self.stopping()
    }

    fn sleep(&self, wait: Duration) {
        Self::sleep(self, wait);
    }
}
