#![doc = include_str!("../README.md")]
#![cfg(all(test, feature = "loom"))]

/// Includes a source file of another crate, of which the tests use only a part.
macro_rules! included {
    ($name:ident, $path:literal) => {
        #[path = $path]
        #[allow(dead_code, unreachable_pub, reason = "a part of the file is tested, in a private module")]
        mod $name;
    };
}

included!(cpu_quota, "../../../rate-limit/src/cpu_quota.rs");
included!(newest_stored_block, "../../../chain/src/newest_stored_block.rs");
included!(queue, "../../../chain/src/feed/queue.rs");
included!(quota, "../../../rate-limit/src/quota.rs");
included!(running_call, "../../../py/src/running_call.rs");
included!(table, "../../../rate-limit/src/table.rs");

mod memory;
mod sync;
mod tests;
mod view;
