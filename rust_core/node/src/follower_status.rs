//! Status of a node that follows a sequencer.

use foreseal_replication::{Following, PoolStart};

use crate::{FollowingStatus, Status, shared::Shared};

/// Returns the status of the node whose follower is `following`.
pub(crate) fn follower_status(following: &Following, shared: &Shared) -> Status {
    let (welcome, said) = (following.welcome(), following.report_of_sequencer());
    let sequencer = said.as_ref().map(|said| said.phase.clone());
    Status {
        phase: shared.phase(),
        age: shared.age(),
        pool_start: said.as_ref().map_or(PoolStart::New, |said| said.pool_start),
        produces: welcome.is_some_and(|welcome| welcome.produces),
        signer: said.as_ref().and_then(|said| said.signer),
        damage: shared.damage(),
        store: shared.followed_store(said.and_then(|said| said.store)),
        shown: shared.view().is_some(),
        following: Some(FollowingStatus {
            lag: following.lag(),
            beginnings: following.beginnings(),
            sequencer,
            unheard: shared.unheard(),
        }),
    }
}
