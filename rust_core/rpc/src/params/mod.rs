//! Positional parameters, parsed from raw JSON. Each error names the invalid argument.

mod block;
mod call_object;
mod development;
mod filter;
pub mod hex;
mod invalid;
mod options;
mod overrides;
mod payload;
mod positional;
mod simulation;
mod storage;
mod subscription;
#[cfg(test)]
pub mod tests;
mod trace;
mod typed_data;
mod value;

pub use call_object::CallObject;
pub use development::{Amount, Finality, MineOptions, Number, ReorgPairs, ResetOptions};
pub use filter::{BlockSelection, Filter, LogQuery, Tag};
pub use invalid::{Invalid, Param, ParamsError, Reason};
pub use overrides::CallBlock;
pub use payload::PayloadAttributes;
pub use positional::Params;
pub use simulation::Simulation;
pub use storage::{StorageKey, StorageRequests};
pub use subscription::{Cursor, CursorPart, SubscriptionName};
pub use trace::{FlatOptions, NamedTracer, TraceCallConfig, TraceConfig};
pub use typed_data::TypedData;
pub use value::{Milliseconds, Password, Percentiles, StorageWord};
