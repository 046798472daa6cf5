//! Conversion of Rust errors to Python exceptions. All conversion tables are in this file.

use std::io;

use foreseal_backup::BackupError;
use foreseal_chain::datadir::DataDirError;
use foreseal_conformance::RunError;
use foreseal_journal::{JournalError, LockError, OfflineError};
use foreseal_loadgen::{LoadError, SigningError, TargetError};
use foreseal_node::{ControlError, JournalRepairError, NodeError, SourceError, StartError, StoreRepairError};
use foreseal_quorum::{AppendSourceError, ImportError};
use foreseal_replication::{DirectoryCopyError, ReplicationError, wire::Ending};
use foreseal_rpc::{InvalidReceiptError, RpcError};
use foreseal_store::StoreError;
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::accounts::AccountsError;
use crate::cluster_target::ClusterTargetError;
use crate::settings_error::SettingsError;

/// The exception classes of `foreseal.errors`.
mod classes {
    pyo3::import_exception!(foreseal.errors, NodeError);
    pyo3::import_exception!(foreseal.errors, PreconfirmationError);
    pyo3::import_exception!(foreseal.errors, RpcError);
}

/// Errors of opening a node or of a command on a data directory.
#[derive(Debug, thiserror::Error)]
pub enum CoreError {
    #[error(transparent)]
    Settings(#[from] SettingsError),
    #[error(transparent)]
    Node(#[from] NodeError),
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error(transparent)]
    Offline(#[from] OfflineError),
    #[error(transparent)]
    JournalRepair(#[from] JournalRepairError),
    #[error(transparent)]
    Backup(#[from] BackupError),
    #[error(transparent)]
    DirectoryCopy(#[from] DirectoryCopyError),
    #[error(transparent)]
    ClusterTarget(#[from] ClusterTargetError),
    #[error(transparent)]
    Import(#[from] ImportError),
    #[error(transparent)]
    Vectors(#[from] RunError),
    #[error("cannot write the response: {0}")]
    Json(#[from] serde_json::Error),
    #[error(transparent)]
    Control(#[from] ControlError),
    #[error("the node is closed")]
    Closed,
    #[error("the process was stopped before the node had its data")]
    Stopped,
    #[error("cannot start the worker pool: {0}")]
    Threads(#[from] io::Error),
    #[error(transparent)]
    StoreRepair(#[from] StoreRepairError),
}

impl From<AccountsError> for PyErr {
    fn from(error: AccountsError) -> Self {
        match error {
            AccountsError::Mnemonic(_) | AccountsError::Derivation(_) | AccountsError::TooMany(_) => {
                PyValueError::new_err(error.to_string())
            }
        }
    }
}

/// Errors of the load generator.
#[derive(Debug, thiserror::Error)]
pub enum GeneratorError {
    #[error(transparent)]
    Load(#[from] LoadError),
    #[error(transparent)]
    Target(#[from] TargetError),
    #[error(transparent)]
    Signing(#[from] SigningError),
    #[error("{name}: {why}")]
    Argument { name: &'static str, why: String },
}

impl From<GeneratorError> for PyErr {
    fn from(error: GeneratorError) -> Self {
        let text = error.to_string();
        match error {
            GeneratorError::Load(
                LoadError::Open { .. } | LoadError::Poll(_) | LoadError::Subscription(_),
            ) => PyOSError::new_err(text),
            GeneratorError::Load(LoadError::Plan(_))
            | GeneratorError::Target(_)
            | GeneratorError::Signing(_)
            | GeneratorError::Argument { .. } => PyValueError::new_err(text),
        }
    }
}

/// Returns the exception for the error of a JSON-RPC method.
pub fn rpc_error(error: RpcError) -> PyErr {
    classes::RpcError::new_err((error.code, error.message, Data(error.data)))
}

/// Returns the exception for an invalid receipt; `which` is its position if there are two.
pub fn preconfirmation_error(error: &InvalidReceiptError, which: Option<usize>) -> PyErr {
    classes::PreconfirmationError::new_err((error.field.name(), error.why.clone(), which))
}

/// The `data` of a JSON-RPC error: JSON bytes or None.
struct Data(Option<Vec<u8>>);

impl<'py> IntoPyObject<'py> for Data {
    type Target = PyAny;
    type Output = Bound<'py, PyAny>;
    type Error = std::convert::Infallible;

    fn into_pyobject(self, py: Python<'py>) -> Result<Self::Output, Self::Error> {
        Ok(self.0.map_or_else(|| py.None().into_bound(py), |json| PyBytes::new(py, &json).into_any()))
    }
}

impl From<CoreError> for PyErr {
    fn from(error: CoreError) -> Self {
        let kind = match &error {
            CoreError::Settings(error) => settings_kind(error),
            CoreError::Node(error) => node_kind(error),
            CoreError::Backup(error) => backup_kind(error),
            CoreError::DirectoryCopy(error) => directory_copy_kind(error),
            CoreError::ClusterTarget(error) => target_kind(error),
            CoreError::Import(error) => import_kind(error),
            CoreError::JournalRepair(JournalRepairError::NothingShared) => "corrupt",
            CoreError::Journal(error) | CoreError::JournalRepair(JournalRepairError::Journal(error)) => {
                journal_kind(error)
            }
            CoreError::Offline(error) | CoreError::JournalRepair(JournalRepairError::Offline(error)) => {
                match error {
                    OfflineError::Missing(_) => "journal",
                    OfflineError::Lock(error) => lock_kind(error),
                }
            }
            CoreError::Control(_) => "refused",
            CoreError::StoreRepair(error) => repair_kind(error),
            CoreError::Closed => "closed",
            CoreError::Stopped => "stopped",
            CoreError::Vectors(_) | CoreError::Json(_) | CoreError::Threads(_) => "io",
        };
        classes::NodeError::new_err((kind, error.to_string()))
    }
}

fn backup_kind(error: &BackupError) -> &'static str {
    match error {
        BackupError::DataDir(error) => datadir_kind(error),
        BackupError::Store(error) => store_kind(error),
        BackupError::Journal(error) => journal_kind(error),
        BackupError::NotEmpty(_)
        | BackupError::Unfinished(_)
        | BackupError::NotABackup { .. }
        | BackupError::NewerFormat { .. }
        | BackupError::Unreleased
        | BackupError::NoKey(_)
        | BackupError::NotACopy { .. } => "settings",
        BackupError::Damaged { .. } | BackupError::DamagedCopy { .. } => "corrupt",
        BackupError::OtherChain { .. } => "genesis",
        BackupError::Outrun { .. }
        | BackupError::Interrupted
        | BackupError::Stream { .. }
        | BackupError::SenderFailed(_) => "io",
    }
}

fn target_kind(error: &ClusterTargetError) -> &'static str {
    match error {
        ClusterTargetError::NoChain { .. }
        | ClusterTargetError::OtherChain { .. }
        | ClusterTargetError::SeveralChains { .. } => "settings",
        ClusterTargetError::Settings(error) => settings_kind(error),
        ClusterTargetError::QuorumStore(_) => "quorum",
    }
}

fn import_kind(error: &ImportError) -> &'static str {
    match error {
        ImportError::Source(AppendSourceError::Journal(error)) => journal_kind(error),
        ImportError::Source(
            AppendSourceError::Decode(_) | AppendSourceError::Damaged(_) | AppendSourceError::Export(_),
        ) => "corrupt",
        ImportError::Source(AppendSourceError::Empty) => "journal",
        ImportError::Source(AppendSourceError::Io(_)) => "io",
        ImportError::QuorumStore(_) | ImportError::Tail(_) => "quorum",
        ImportError::NotEmpty { .. }
        | ImportError::QuorumAhead { .. }
        | ImportError::Gap { .. }
        | ImportError::OtherHistory { .. }
        | ImportError::Changed => "refused",
    }
}

fn directory_copy_kind(error: &DirectoryCopyError) -> &'static str {
    match error {
        DirectoryCopyError::OtherChain { .. } => "genesis",
        DirectoryCopyError::Ended(Ending::Refused(_)) => "refused",
        DirectoryCopyError::Ended(
            Ending::Stopping | Ending::CursorGone | Ending::FellBehind | Ending::Busy { .. },
        )
        | DirectoryCopyError::Io(_)
        | DirectoryCopyError::Wire(_)
        | DirectoryCopyError::Closed
        | DirectoryCopyError::Unexpected => "io",
    }
}

fn repair_kind(error: &StoreRepairError) -> &'static str {
    match error {
        StoreRepairError::Node(error) => node_kind(error),
        // The only backups that a repair gets here are those of `foreseal_backup`.
        StoreRepairError::Backup(error) => error.downcast_ref().map_or("io", backup_kind),
        StoreRepairError::Impossible(_) => "corrupt",
        StoreRepairError::Source(SourceError::Unavailable(_)) => "io",
        StoreRepairError::Unfinished(_) => "settings",
        StoreRepairError::Source(SourceError::OtherChainId { .. } | SourceError::OtherGenesis { .. }) => {
            "genesis"
        }
        StoreRepairError::Source(_) => "block",
        StoreRepairError::Journal(OfflineError::Missing(_)) => "journal",
        StoreRepairError::Journal(OfflineError::Lock(error)) => lock_kind(error),
    }
}

fn settings_kind(error: &SettingsError) -> &'static str {
    match error {
        SettingsError::Json(_)
        | SettingsError::Accounts(_)
        | SettingsError::BlockTime(_)
        | SettingsError::NoThreads
        | SettingsError::FeedAndFollow
        | SettingsError::Cluster(_)
        | SettingsError::FeedAddress(_)
        | SettingsError::EtcdUrl(_)
        | SettingsError::Etcd(_)
        | SettingsError::QuorumSetup(_)
        | SettingsError::EngineSecret(_)
        | SettingsError::EngineListener { .. }
        | SettingsError::FlashblocksListener { .. }
        | SettingsError::Fork(_)
        | SettingsError::LogLevel(_) => "settings",
        SettingsError::GenesisFile { .. } | SettingsError::Genesis { .. } | SettingsError::ChainSpec(_) => {
            "genesis"
        }
    }
}

fn node_kind(error: &NodeError) -> &'static str {
    match error {
        NodeError::DataDir(error) => datadir_kind(error),
        NodeError::Settings(_) | NodeError::Key(_) | NodeError::Credentials(_) => "settings",
        NodeError::Cluster(_) => "quorum",
        NodeError::DeadGenesis { .. } | NodeError::MissingSystemContracts { .. } => "genesis",
        NodeError::Start(StartError::Lost { .. }) => "corrupt",
        NodeError::Io { .. } | NodeError::Read(_) | NodeError::StoreFailed(_) => "io",
        NodeError::Journal(error) => journal_kind(error),
        NodeError::Store(error) => store_kind(error),
        NodeError::Start(_) => "store",
        NodeError::Replication(error) => replication_kind(error),
        NodeError::Replay(_) => "replay",
        NodeError::Chain(_) => "block",
        NodeError::Build(_) | NodeError::Production(_) => "production",
    }
}

fn replication_kind(error: &ReplicationError) -> &'static str {
    match error {
        ReplicationError::Thread { .. } | ReplicationError::Listen { .. } | ReplicationError::State(_) => {
            "io"
        }
        ReplicationError::Store(error) => store_kind(error),
        ReplicationError::StoreMeta(_) => "store",
        ReplicationError::Chain(_) => "block",
    }
}

fn datadir_kind(error: &DataDirError) -> &'static str {
    match error {
        DataDirError::InUse(error) => lock_kind(error),
        DataDirError::Genesis(_) | DataDirError::NoGenesis { .. } | DataDirError::OtherGenesis { .. } => {
            "genesis"
        }
        DataDirError::Damaged(_) => "corrupt",
        DataDirError::NewerIdentity { .. } => "journal",
        DataDirError::Io { .. } => "io",
    }
}

fn journal_kind(error: &JournalError) -> &'static str {
    match error {
        JournalError::Corrupt { .. }
        | JournalError::Record { .. }
        | JournalError::Missing { .. }
        | JournalError::OtherHistory { .. }
        | JournalError::EndDamaged { .. } => "corrupt",
        JournalError::Superseded { .. } | JournalError::Interrupted | JournalError::Quorum { .. } => "quorum",
        JournalError::Fenced { .. } | JournalError::Moved { .. } | JournalError::Shortened { .. } => "in-use",
        JournalError::WrongChain { .. }
        | JournalError::NewerFormat { .. }
        | JournalError::Unreleased { .. } => "journal",
        JournalError::Io { .. }
        | JournalError::ShortWrite { .. }
        | JournalError::Poisoned { .. }
        | JournalError::TooLarge { .. } => "io",
    }
}

fn store_kind(error: &StoreError) -> &'static str {
    match error {
        StoreError::OtherChain { .. } | StoreError::OtherGenesis { .. } => "genesis",
        StoreError::InUse { .. } | StoreError::Moved { .. } => "in-use",
        StoreError::NewerSchema { .. }
        | StoreError::Unreleased { .. }
        | StoreError::NotAStore { .. }
        | StoreError::Absent { .. }
        | StoreError::ReadOnlyDirectory { .. }
        | StoreError::ReadOnly => "store",
        StoreError::Truncated { .. }
        | StoreError::Damaged { .. }
        | StoreError::DamagedPage { .. }
        | StoreError::LogIndex(_)
        | StoreError::State(_) => "corrupt",
        StoreError::Io { .. }
        | StoreError::DiskFull
        | StoreError::MapFull { .. }
        | StoreError::TooManyReaders { .. }
        | StoreError::OutOfOrder { .. }
        | StoreError::Interrupted
        | StoreError::ViewGone
        | StoreError::OutsideProofWindow { .. }
        | StoreError::Lmdb(_) => "io",
    }
}

fn lock_kind(error: &LockError) -> &'static str {
    match error {
        LockError::DataDirInUse { .. } => "in-use",
        LockError::Io { .. } => "io",
    }
}
