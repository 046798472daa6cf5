#![doc = include_str!("../README.md")]

mod clock;
mod cluster;
mod control;
mod development;
mod driver;
mod errors;
mod observe;
mod process;
mod produce;
mod repair;
mod settings;
mod shared;
mod store;

pub use clock::slot::BlockSlot;
pub use cluster::cluster_monitor::{ClusterRole, ClusterStatus, QuorumStatus, TakeoverRecord};
pub use cluster::member_loop::MemberLoop;
pub use control::producer::Producer;
pub use control::sequencer::Sequencer;
pub use development::development_control::DevelopmentControl;
pub use development::dump::DumpedAccount;
pub use development::mine::MiningOrder;
pub use driver::driver_state::{BlockVerdict, BuiltPayload, ForkChoice, HeadChoice, PayloadRequest};
pub use driver::payload_builder::PayloadBuilder;
pub use errors::chain_loss::ChainLoss;
pub use errors::cluster_error::ClusterError;
pub use errors::key_error::KeyError;
pub use errors::node_error::NodeError;
pub use errors::production_error::{ControlError, ProductionError};
pub use errors::start_error::StartError;
pub use errors::store_failed::StoreFailed;
pub use observe::changes::Changes;
pub use observe::points::{InspectionPoint, Watcher};
pub use observe::writer_metrics::{BOUNDS, Histogram, NodeMetrics, StepStage, WriterMetrics};
pub use process::cluster_node::Handover;
pub use process::liveness::Liveness;
pub use process::node::Node;
pub use process::status::{FollowingStatus, Head, Status, Warning};
pub use process::submission::Sent;
pub use produce::step_signer::StepSigner;
pub use repair::errors::StoreRepairError;
pub use repair::plan::{FetchPlan, RepairMethod, RepairPlan, RepairProgress};
pub use repair::source::{BlockSource, SourceChain, SourceError};
pub use repair::store_repair::{RepairSources, StoreRepair};
pub use settings::cluster_settings::{ClusterSettings, QuorumSettings};
pub use settings::environment::{NodeEnvironment, Randomness};
pub use settings::memory_budget::{MemoryBudget, MemoryUse};
pub use settings::mining::Mining;
pub use settings::{
    Development, RevertReasonField, Role, ScrubSettings, Settings, SettingsError, StoreSettings,
};
pub use shared::payload_feed::{PayloadFeed, PayloadSteps};
pub use shared::request_handler::QueryHandler;
pub use store::import_export::{export_chain, import_chain};
pub use store::loss::{JournalRepair, JournalRepairError};
pub use store::offline::open_store_to_read;
