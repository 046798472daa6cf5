#![doc = include_str!("../README.md")]

mod backup;
mod backup_source;
mod chain_check;
mod copy_frame;
mod copy_rate;
mod copy_receiver;
mod copy_sender;
mod copy_sink;
mod data_dir_copy;
mod data_dir_copy_source;
mod draft;
mod draft_file;
mod error;
mod file_names;
mod files;
mod folder_sink;
mod make;
mod manifest;
mod restore;

pub use backup::Backup;
pub use backup_source::BackupSource;
pub use copy_rate::CopyRate;
pub use copy_receiver::{CopyTarget, receive_copy};
pub use copy_sender::{CopySummary, send_copy};
pub use data_dir_copy_source::DataDirCopySource;
pub use draft::is_new;
pub use error::BackupError;
pub use files::ManifestFile;
pub use make::back_up;
pub use manifest::Manifest;
pub use restore::restore;
