//! An engine for tests: deterministic, in memory, with faults that a seed decides.

mod fault_rates;
mod key_space;
mod seeded_chance;
mod simulated_engine;

pub use fault_rates::FaultRates;
pub use key_space::HistoryEntry;
pub use simulated_engine::SimulatedEngine;
