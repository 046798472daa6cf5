//! Differences from the chain that a request asks to be executed under.

mod block;
mod overlay;
mod state;

pub use block::BlockOverrides;
pub use overlay::Overlay;
pub use state::{AccountOverride, Overridden, OverrideError, StateOverrides, StorageOverride};
