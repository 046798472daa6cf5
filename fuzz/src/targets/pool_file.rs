//! Files of saved pools.

use std::sync::LazyLock;

use foreseal_pool::{Pool, PoolConfig, Rules};

use super::methods;
use crate::{Memory, Target};

pub const TARGET: Target = Target {
    name: "pool_file",
    longest: 1024,
    memory: Memory { fixed: 1 << 17, each: 256 },
    prepare: || {
        LazyLock::force(&methods::CHAIN);
        LazyLock::force(&RULES);
    },
    run,
};

/// Size of the checksum at the end, in bytes.
const CHECKSUM: usize = 4;

static RULES: LazyLock<Rules> = LazyLock::new(|| {
    let chain = methods::CHAIN.lock().expect("no run failed");
    Rules::new(&PoolConfig::default(), chain.api.node().spec(), &chain.view().pending().block.header)
});

/// Checks that the admitted transactions of a restored pool are saved and restored without a change. The
/// checksum of the input is corrected first.
fn run(input: &[u8]) {
    let Some(body) = input.len().checked_sub(CHECKSUM).map(|length| &input[..length]) else { return };
    let saved = [body, &crc32c::crc32c(body).to_le_bytes()].concat();
    let view = methods::CHAIN.lock().expect("no run failed").view();
    let pool =
        Pool::new(PoolConfig { max_dropped_history: 16, max_pending_log: 16, ..PoolConfig::default() });
    match pool.restore(&saved, &RULES, || &*view) {
        Ok(restored) => {
            let all = pool.all();
            assert!(all.len() <= restored.added);
            let again = Pool::new(PoolConfig::default());
            let second = again.restore(&pool.save(), &RULES, || &*view).expect("what was saved is read");
            assert_eq!((second.added, second.dropped.len()), (all.len(), 0));
            assert_eq!(again.save(), pool.save());
        }
        Err(error) => assert!(pool.all().is_empty() && !error.to_string().is_empty()),
    }
}
