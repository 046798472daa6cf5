//! Benchmarks of the core, each a criterion suite of its own. Figures that are published lie in `results/`.

mod size;

pub use size::sized;
