//! State and block overrides of a request.

mod block;
mod overlay;
mod state;

pub use block::BlockOverrides;
pub use overlay::StateOverlay;
pub use state::{AccountOverride, OverrideError, ResolvedOverrides, StateOverrides, StorageOverride};
