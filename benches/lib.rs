//! Benchmarks of the core, each a separate criterion suite. Published figures are in `results/`.

mod size;

pub use size::sized;
