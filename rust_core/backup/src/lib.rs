#![doc = include_str!("../README.md")]

mod backup;
mod backup_source;
mod chain_check;
mod copy_sink;
mod data_dir_copy;
mod data_dir_snapshots;
mod draft;
mod draft_file;
mod error;
mod file_names;
mod files;
mod folder_sink;
mod make;
mod manifest;
mod restore;
mod snapshot_frame;
mod snapshot_rate;
mod snapshot_receiver;
mod snapshot_sender;

pub use backup::Backup;
pub use backup_source::BackupSource;
pub use data_dir_snapshots::DataDirSnapshots;
pub use draft::is_new;
pub use error::BackupError;
pub use files::ManifestFile;
pub use make::back_up;
pub use manifest::Manifest;
pub use restore::restore;
pub use snapshot_rate::SnapshotRate;
pub use snapshot_receiver::{SnapshotTarget, receive_snapshot};
pub use snapshot_sender::{SnapshotSummary, send_snapshot};
