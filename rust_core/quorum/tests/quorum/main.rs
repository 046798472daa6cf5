//! The quorum journal: encoding of records, contenders on a simulated quorum store, and a real etcd.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod chain_listing;
mod check;
mod contender;
mod contenders;
mod etcd;
mod etcd_process;
mod history;
mod import;
mod log;
mod record;
mod tail;
mod writer;
