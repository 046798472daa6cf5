#![doc = include_str!("../README.md")]

mod action;
mod bytes;
mod campaign;
mod chain_change;
mod cluster_campaign;
mod cluster_checker;
mod cluster_counts;
mod cluster_event;
mod cluster_finish;
mod cluster_history;
mod cluster_links;
mod cluster_perform;
mod cluster_probe;
mod cluster_process;
mod cluster_station;
mod cluster_store;
mod cluster_world;
mod counts;
mod cut_counts;
mod damage;
mod feed;
mod follower;
mod ledger;
mod loss;
mod network;
mod network_event;
mod node_setup;
mod pipe;
mod process;
mod readers;
mod run;
mod schedule_run;
mod senders;
mod submission_kind;
mod submit;
mod timing;
mod view_digests;
mod view_readers;
mod world;

use std::panic::{AssertUnwindSafe, catch_unwind};

pub use bytes::{Bytes, every_byte};
pub use campaign::{play, run_seeds};
pub use cluster_campaign::{play_cluster, run_cluster_seeds};
pub use cluster_counts::ClusterCounts;
pub use counts::Counts;
pub use cut_counts::{CutCounts, every_cut};
pub use schedule_run::Failure;

/// Calls `call`. Returns `None` if it panics.
fn quietly<T>(call: impl FnOnce() -> T) -> Option<T> {
    catch_unwind(AssertUnwindSafe(call)).ok()
}
