//! Status of a node that follows a sequencer.

use std::time::Duration;

use foreseal_replication::{FollowerClient, PoolStart};

use crate::{
    process::status::{FollowingStatus, Status},
    shared::shared_state::SharedState,
};

/// Returns the status of the node whose follower is `client`.
pub(crate) fn follower_status(client: &FollowerClient, shared: &SharedState) -> Status {
    let (welcome, report) = (client.welcome(), client.sequencer_report());
    let sequencer = report.as_ref().map(|report| report.phase.clone());
    Status {
        phase: shared.health.phase(),
        age: shared.publication.age(),
        pool_start: report.as_ref().map_or(PoolStart::New, |report| report.pool_start),
        produces: welcome.is_some_and(|welcome| welcome.produces),
        driver: false,
        signer: report.as_ref().and_then(|report| report.signer),
        damage: shared.health.damage(),
        store: shared.health.followed_store(report.and_then(|report| report.store)),
        shown: shared.publication.view().is_some(),
        following: Some(FollowingStatus {
            lag: client.lag(),
            chain_loads: client.chain_loads(),
            sequencer,
            time_since_frame: shared.publication.time_since_frame(),
        }),
        cluster: None,
        // The node that seals the blocks reports it.
        clock_lead: Duration::ZERO,
    }
}
