//! Events that pools send to their replicas, and their responses to forwarded submissions.

use foreseal_pool::{Admission, Pool, PoolConfig, PoolError, PoolEvent};
use foreseal_primitives::wire::{decode, encode, to_vec};

use super::nothing;
use crate::{Memory, Target};

pub const TARGET: Target = Target {
    name: "pool_event",
    longest: 768,
    // Serde reserves at most 1 MiB for a list before it has read it, and lists are nested twice.
    memory: Memory { fixed: 3 << 20, each: 512 },
    prepare: nothing,
    run,
};

/// Checks that responses survive their encoding and that a replica can apply any event. The first byte selects the
/// type to decode.
fn run(input: &[u8]) {
    let Some((&what, bytes)) = input.split_first() else { return };
    match what % 4 {
        0 => {
            let Ok(admission) = decode::<Admission>(bytes) else { return };
            assert_eq!(decode(&to_vec(&admission)), Ok(admission));
        }
        1 => {
            let Ok(error) = decode::<PoolError>(bytes) else { return };
            let again: PoolError = decode(&to_vec(&error)).expect("what was encoded decodes");
            assert_eq!((again.message(), again.data()), (error.message(), error.data()));
        }
        _ => {
            let Ok(event) = decode::<PoolEvent>(bytes) else { return };
            let replica = Pool::new(PoolConfig {
                max_dropped_history: 16,
                max_pending_log: 16,
                ..PoolConfig::default()
            });
            replica.apply(event.clone());
            replica.apply(event);
            let all = replica.all();
            assert!(all.iter().all(|transaction| replica.contains(&transaction.hash())));
            let mut whole = Vec::new();
            replica.whole_pool_event(|event| encode(&event, &mut whole));
            let other = Pool::new(PoolConfig::default());
            other.apply(decode(&whole).expect("a pool's own event decodes"));
            assert_eq!(other.all().len(), all.len());
        }
    }
}
