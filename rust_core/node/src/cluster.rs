//! Several machines: a quorum journal decides which member writes the chain, and the others follow it.
//!
//! ```text
//!   ClusterMember::poll   observe owner, beat, head --> SilenceDetector --> take over: catch up, acquire, lead
//!                         |                                                          |
//!                         +--> addresses of the FollowerClient (feed of the owner)   v
//!   Sequencer (MirrorChain) <-- appends of the feed, or of the quorum's tail     Producer ticks --> demote if fenced
//! ```

pub(crate) mod busy_beat;
pub(crate) mod cluster_monitor;
pub(crate) mod feed_backend;
pub(crate) mod feed_probe;
pub(crate) mod follower_backend;
pub(crate) mod forwarding;
pub(crate) mod interval_thread;
pub(crate) mod member;
pub(crate) mod member_loop;
pub(crate) mod mirror_chain;
pub(crate) mod quorum_watch;
pub(crate) mod replica_appends;
pub(crate) mod takeover;
