//! Blocks: header, lists, logs and steps.

mod body;
mod derive;
mod log;
mod read;
mod receipt;
mod record;
mod sealed;
mod step;
mod transaction;
pub(crate) mod unwind;
pub(crate) mod write;

pub use log::StoredLog;
pub(crate) use log::encode as encode_log;
pub use read::BlockWithoutLogs;
pub(crate) use receipt::StoredReceipt;
pub use record::BlockRecord;
pub use sealed::SealedBlock;
pub use step::StoredStep;
