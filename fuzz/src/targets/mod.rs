//! Targets, one file per decoder: the call of the decoder and the properties that must hold.

mod filter;
mod flashblock;
mod genesis;
mod imports;
mod journal;
mod methods;
mod params;
mod pool_event;
mod pool_file;
mod proof;
mod receipt;
mod record;
mod submission;
mod transaction;
mod values;
mod wire;

use crate::Target;

/// All targets.
pub const TARGETS: &[Target] = &[
    filter::TARGET,
    flashblock::TARGET,
    genesis::TARGET,
    imports::TARGET,
    journal::TARGET,
    methods::TARGET,
    params::TARGET,
    pool_event::TARGET,
    pool_file::TARGET,
    proof::TARGET,
    receipt::TARGET,
    record::TARGET,
    submission::TARGET,
    transaction::TARGET,
    values::TARGET,
    wire::TARGET,
];

/// Returns the target with this name.
pub fn target(name: &str) -> Option<&'static Target> {
    TARGETS.iter().find(|target| target.name == name)
}

/// Initializes nothing: for targets whose runs share no state.
const fn nothing() {}
