//! The data directory: store and journal are opened, replayed into a chain, and written.

pub(crate) mod contradiction;
pub(crate) mod import;
pub(crate) mod import_export;
pub(crate) mod journal_checkpoints;
pub(crate) mod loss;
pub(crate) mod offline;
pub(crate) mod opened_chain;
pub(crate) mod start;
pub(crate) mod store_files;
pub(crate) mod store_job;
pub(crate) mod store_writer;
pub(crate) mod write_queue;
