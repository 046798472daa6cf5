//! Benchmarks of the core, each a separate criterion suite. Published figures are in `results/`.

mod size;
mod token_chain;

pub use size::sized;
pub use token_chain::{TokenChain, keyless_address};
