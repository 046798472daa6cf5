#![doc = include_str!("../README.md")]

mod activity;
mod backup;
mod chain_loss;
mod changes;
mod checked_file;
mod contradiction;
mod control;
mod datadir;
mod draft;
mod environment;
mod errors;
mod feed_server;
mod follower;
mod genesis;
mod identity;
mod import_export;
mod journal_checkpoints;
mod liveness;
mod loss;
mod manual;
mod mining;
mod node;
mod offline;
mod points;
mod producer;
mod production_error;
mod repair;
mod request_handler;
mod scrubber;
mod sealed_chain;
mod sequencer;
mod settings;
mod shared;
mod signer;
mod slot;
mod snapshots;
mod stamp;
mod start;
mod start_error;
mod status;
mod step_signer;
mod store_job;
mod store_swap;
mod store_writer;
mod submission;
mod submit_error;
pub mod wire;
mod write_queue;
mod writer;
mod writer_metrics;

pub use backup::{
    BackupError, BackupSource, Copied, CopiedPart, Manifest, ManifestFile, Watching, back_up, restore,
};
pub use chain_loss::ChainLoss;
pub use changes::Changes;
pub use checked_file::{Checksum, DamagedFile, Mismatch};
pub use environment::{NodeEnvironment, Randomness};
pub use errors::NodeError;
pub use feed_server::{FollowerStatus, ManualServer, RingLimits};
pub use follower::{ManualFollower, SubmissionHandle};
pub use identity::{DirIdentity, SignerSince};
pub use import_export::{export_chain, import_chain};
pub use liveness::Liveness;
pub use loss::{JournalRepair, JournalRepairError};
pub use mining::Mining;
pub use node::Node;
pub use offline::{open_store_to_read, store_schema, upgrade_store};
pub use points::{InspectionPoint, Watcher};
pub use producer::Producer;
pub use production_error::{ControlError, ProductionError};
pub use repair::{
    BlockSource, FetchPlan, RepairMethod, RepairPlan, RepairSources, Repairing, SourceChain, SourceError,
    StoreRepair, StoreRepairError,
};
pub use request_handler::QueryHandler;
pub use sequencer::Sequencer;
pub use settings::{Development, Production, Role, ScrubSettings, Settings, SettingsError, StoreSettings};
pub use slot::BlockSlot;
pub use start_error::StartError;
pub use status::{CatchingUp, FollowingStatus, Head, Phase, PoolStart, ScrubStatus, Status, StoreStatus};
pub use step_signer::{KeyError, StepSigner};
pub use submission::Sent;
pub use submit_error::SubmitError;
pub use write_queue::StoreFailed;
pub use writer_metrics::{BOUNDS, Histogram, NodeMetrics, StepStage, WriterMetrics};
