#![doc = include_str!("../README.md")]

mod backup;
mod error;
mod file_names;
mod files;
mod make;
mod manifest;
mod restore;

pub use backup::Backup;
pub use error::BackupError;
pub use files::ManifestFile;
pub use make::{BackupSource, back_up};
pub use manifest::Manifest;
pub use restore::restore;
