//! State and block overrides of a request.

mod block;
mod overlay;
mod state;

pub use block::BlockOverrides;
pub use overlay::Overlay;
pub use state::{AccountOverride, Overridden, OverrideError, StateOverrides, StorageOverride};
