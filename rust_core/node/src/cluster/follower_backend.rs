//! The node behind a follower: what it receives reaches the readers.

use std::{sync::Arc, time::Duration};

use foreseal_chain::View;
use foreseal_replication::{FollowerBackend, Phase, wire::Heartbeat};

use crate::shared::shared_state::SharedState;

impl FollowerBackend for SharedState {
    fn view(&self) -> Option<Arc<View>> {
        self.publication.view()
    }

    fn publish(&self, view: Arc<View>) {
        self.publication.publish(view);
    }

    fn set_phase(&self, phase: Phase) {
        self.health.set_following_phase(phase, || self.leadership.leads());
    }

    fn is_following(&self) -> bool {
        !self.leadership.leads()
    }

    fn frame_arrived(&self) {
        self.publication.record_frame();
    }

    fn record_heartbeat(&self, heartbeat: &Heartbeat) {
        self.publication.record_sequencer_tick(heartbeat.age, heartbeat.ticked);
    }

    fn pool_changed(&self) {
        self.publication.feed.arrived();
    }

    fn wake_waiters(&self) {
        self.publication.changes.notify();
    }

    fn run_following(&self, work: &mut dyn FnMut()) {
        let _working = self.activity.work();
        work();
    }

    fn is_stopping(&self) -> bool {
        self.stop.is_stopping()
    }

    fn sleep(&self, wait: Duration) {
        self.stop.sleep(wait);
    }
}
