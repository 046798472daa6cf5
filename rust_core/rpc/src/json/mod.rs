//! JSON: writers that append directly to a byte buffer, the sizes of what they write, and the caches of it.

pub mod answer_size;
pub mod block;
pub mod block_json_cache;
pub mod call_frame;
pub mod cursor;
pub mod flat_calls;
pub mod hex;
pub mod json_caches;
pub mod large_answers;
pub mod log;
pub mod log_json_cache;
pub mod object;
pub mod pace;
pub mod receipt;
pub mod revert;
#[cfg(test)]
mod size_tests;
#[cfg(test)]
mod tests;
pub mod trace;
pub mod transaction;
