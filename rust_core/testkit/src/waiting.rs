//! Waiting for what other threads do.

use std::time::{Duration, Instant};

/// Longest time that anything takes that a test waits for.
pub const LONG: Duration = Duration::from_mins(1);

/// Waits until it holds.
///
/// # Panics
/// When it does not within [`LONG`].
pub fn wait_for(what: &str, mut holds: impl FnMut() -> bool) {
    let end = Instant::now() + LONG;
    while !holds() {
        assert!(Instant::now() < end, "{what}: not within {LONG:?}");
        std::thread::sleep(Duration::from_millis(1));
    }
}
