//! Several machines: a quorum journal decides which member writes the chain, and the others follow it.
//!
//! ```text
//!   ClusterMember::poll   observe owner, beat, head --> SilenceDetector --> take over: catch up, acquire, lead
//!                         |                                                          |
//!                         +--> addresses of the FollowerClient (feed of the owner)   v
//!   Sequencer (MirrorChain) <-- appends of the feed, or of the quorum's tail     Producer ticks --> demote if fenced
//! ```

mod busy_beat;
mod cluster_error;
mod cluster_monitor;
mod cluster_settings;
mod feed_probe;
mod interval_thread;
mod member;
mod quorum_watch;
mod takeover;

pub(crate) use busy_beat::BusyBeat;
pub use cluster_error::ClusterError;
pub(crate) use cluster_monitor::{ClusterMonitor, newest_epoch};
pub use cluster_monitor::{ClusterRole, ClusterStatus, QuorumStatus, TakeoverRecord};
pub use cluster_settings::{ClusterSettings, QuorumSettings};
pub(crate) use feed_probe::FeedProbe;
pub(crate) use interval_thread::IntervalThread;
pub(crate) use member::{ClusterMember, MemberParts};
pub(crate) use quorum_watch::QuorumWatch;
pub(crate) use takeover::demote;
