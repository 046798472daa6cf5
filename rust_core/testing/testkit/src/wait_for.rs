//! Waiting for the effects of other threads.

use std::time::{Duration, Instant};

/// Maximum time that a test waits for anything.
pub const MAX_WAIT: Duration = Duration::from_mins(1);

/// Blocks until `holds` returns `true`.
///
/// # Panics
/// Panics if it does not within [`MAX_WAIT`].
pub fn wait_for(what: &str, mut holds: impl FnMut() -> bool) {
    let end = Instant::now() + MAX_WAIT;
    while !holds() {
        assert!(Instant::now() < end, "{what}: not within {MAX_WAIT:?}");
        std::thread::sleep(Duration::from_millis(1));
    }
}
