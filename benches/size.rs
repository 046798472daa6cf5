//! Sizes of the inputs that a suite builds before it measures.

/// Returns `measured` in a benchmark (`cargo bench`), `smoke` in a test that runs each benchmark once (`cargo
/// test`).
pub fn sized(measured: u64, smoke: u64) -> u64 {
    if std::env::args().any(|argument| argument == "--bench") { measured } else { smoke }
}
