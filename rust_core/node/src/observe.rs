//! Points, metrics and notifications by which others observe the writer of the chain.

pub(crate) mod activity;
pub(crate) mod changes;
pub(crate) mod points;
pub(crate) mod writer_metrics;
