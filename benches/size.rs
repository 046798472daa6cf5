//! How much a suite builds before it measures.

/// `measured` in a benchmark (`cargo bench`), `smoke` where each only runs once to see that it does (`cargo test`).
pub fn sized(measured: u64, smoke: u64) -> u64 {
    if std::env::args().any(|argument| argument == "--bench") { measured } else { smoke }
}
