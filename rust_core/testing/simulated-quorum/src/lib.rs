//! A quorum store for tests: deterministic, in memory, with faults that a seed decides.

mod fault_rates;
mod key_space;
mod seeded_chance;
mod simulated_store;

pub use fault_rates::FaultRates;
pub use key_space::HistoryEntry;
pub use simulated_store::SimulatedStore;
