#![doc = include_str!("../README.md")]

mod chain;
mod chain_file;
mod clock;
mod datadir;
mod errors;
mod executed;
mod lookup;
mod moment;
mod node;
mod producer;
mod replay;
mod settings;
mod shared;
mod slot;
mod status;
mod view;
mod writer;

pub use chain::{Chain, ChainError, FinalityDepth};
pub use chain_file::{Progress, Report, Summary, export_chain, import_chain};
pub use clock::{Clock, Now, SystemClock};
pub use errors::{NodeError, SubmitError};
pub use executed::{Executed, Step};
pub use lookup::{Lookup, Position, STEP_WINDOW};
pub use moment::Moment;
pub use node::{Node, Surroundings};
pub use producer::{Producer, ProductionError, Randomness};
pub use replay::{ReplayError, replay};
pub use settings::{Production, Settings, SettingsError};
pub use shared::{Phase, PoolStart};
pub use slot::Slot;
pub use status::{Head, Status};
pub use view::{BlockId, ResolveError, View};
