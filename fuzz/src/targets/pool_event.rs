//! Events that pools send to their replicas, and their responses to forwarded submissions.

use foreseal_pool::{Admission, Pool, PoolConfig, PoolError, PoolEvent};

use super::nothing;
use crate::{Memory, Target};

pub const TARGET: Target = Target {
    name: "pool_event",
    longest: 768,
    memory: Memory { fixed: 1 << 16, each: 512 },
    prepare: nothing,
    run,
};

/// Checks that responses have one encoding and that a replica can apply any event. The first byte selects the
/// type to decode.
fn run(input: &[u8]) {
    let Some((&what, bytes)) = input.split_first() else { return };
    let mut out = Vec::new();
    match what % 4 {
        0 => {
            let Ok(admission) = Admission::decode(bytes) else { return };
            admission.encode(&mut out);
            assert_eq!(Admission::decode(&out).as_ref(), Ok(&admission));
        }
        1 => {
            let Ok(error) = PoolError::decode(bytes) else { return };
            error.encode(&mut out);
            let again = PoolError::decode(&out).expect("what was encoded decodes");
            assert_eq!((again.message(), again.data()), (error.message(), error.data()));
        }
        _ => {
            let Ok(event) = PoolEvent::decode(bytes) else { return };
            event.encode(&mut out);
            let replica =
                Pool::new(PoolConfig { max_departed: 16, max_arrivals: 16, ..PoolConfig::default() });
            replica.apply(event.clone());
            replica.apply(event);
            let all = replica.all();
            assert!(all.iter().all(|transaction| replica.contains(&transaction.hash())));
            let mut whole = Vec::new();
            replica.whole(|event| event.encode(&mut whole));
            let other = Pool::new(PoolConfig::default());
            other.apply(PoolEvent::decode(&whole).expect("a pool's own event decodes"));
            assert_eq!(other.all().len(), all.len());
            return;
        }
    }
    assert_eq!(out, bytes, "there is one encoding");
}
