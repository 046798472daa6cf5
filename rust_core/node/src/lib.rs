#![doc = include_str!("../README.md")]

mod activity;
mod chain_draft;
mod chain_loss;
mod changes;
mod clock_lead;
mod clock_limit;
mod cluster;
mod cluster_node;
mod contradiction;
mod control;
mod draft_execution;
mod driver_state;
mod environment;
mod errors;
mod follower_backend;
mod follower_status;
mod forwarding;
mod import;
mod import_export;
mod journal_checkpoints;
mod liveness;
mod loss;
#[cfg(feature = "simulation")]
mod manual;
mod member_loop;
mod memory_budget;
mod mining;
mod mirror_chain;
mod node;
mod offline;
mod opened_chain;
mod payload_feed;
mod points;
mod producer;
mod production_error;
mod repair;
mod replicated;
mod request_handler;
mod retired;
mod scrubber;
mod sequencer;
mod sequencer_backend;
mod settings;
mod shared_state;
mod signer;
mod slot;
mod slow_lane;
mod snapshots;
mod start;
mod start_error;
mod status;
mod step_control;
mod step_signer;
mod step_stamp;
mod store_files;
mod store_job;
mod store_swap;
mod store_writer;
mod submission;
mod write_queue;
mod writer;
mod writer_metrics;

pub use chain_loss::ChainLoss;
pub use changes::Changes;
pub use cluster::{
    ClusterError, ClusterRole, ClusterSettings, ClusterStatus, QuorumSettings, QuorumStatus, TakeoverRecord,
};
pub use cluster_node::Handover;
pub use control::{DumpedAccount, MiningOrder};
pub use driver_state::{BlockVerdict, BuiltPayload, ForkChoice, HeadChoice, PayloadRequest};
pub use environment::{NodeEnvironment, Randomness};
pub use errors::NodeError;
pub use import_export::{export_chain, import_chain};
pub use liveness::Liveness;
pub use loss::{JournalRepair, JournalRepairError};
pub use member_loop::MemberLoop;
pub use memory_budget::{MemoryBudget, MemoryUse};
pub use mining::Mining;
pub use node::Node;
pub use offline::open_store_to_read;
pub use payload_feed::{PayloadFeed, PayloadSteps};
pub use points::{InspectionPoint, Watcher};
pub use producer::Producer;
pub use production_error::{ControlError, ProductionError};
pub use repair::{
    BlockSource, FetchPlan, RepairMethod, RepairPlan, RepairProgress, RepairSources, SourceChain,
    SourceError, StoreRepair, StoreRepairError,
};
pub use request_handler::QueryHandler;
pub use sequencer::Sequencer;
pub use settings::{
    Development, RevertReasonField, Role, ScrubSettings, Settings, SettingsError, StoreSettings,
};
pub use slot::BlockSlot;
pub use start_error::StartError;
pub use status::{FollowingStatus, Head, Status, Warning};
pub use step_signer::{KeyError, StepSigner};
pub use submission::Sent;
pub use write_queue::StoreFailed;
pub use writer_metrics::{BOUNDS, Histogram, NodeMetrics, StepStage, WriterMetrics};
