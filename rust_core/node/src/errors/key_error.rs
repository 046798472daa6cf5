//! Error of the key that signs steps.

use std::{
    io,
    path::{Path, PathBuf},
};

use alloy_primitives::Address;

/// Reasons why no signing key is available. The messages never contain the content of the file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    #[error(
        "sequencer key {}: other users have access to it (mode {mode:03o}): chmod 600",
        path.display()
    )]
    Permissions { path: PathBuf, mode: u32 },
    #[error("sequencer key {}: it is not a file", path.display())]
    NotAFile { path: PathBuf },
    #[error("sequencer key {}: it must contain a key: 64 hex digits and nothing else", path.display())]
    Content { path: PathBuf },
    #[error(
        "sequencer key {} is missing, and the steps of this data directory are signed by {signer}: put the file back, or \
         name it with --sequencer-key, or start with a new signer by --new-sequencer-key",
        path.display()
    )]
    Missing { path: PathBuf, signer: Address },
    #[error(
        "sequencer key {} signs as {found}, and the steps of this data directory are signed by {expected}: put the key \
         back, or start with a new signer by --new-sequencer-key",
        path.display()
    )]
    OtherSigner { path: PathBuf, found: Address, expected: Address },
    #[error("sequencer key {}: cannot {what} it: {why}", path.display())]
    Io { path: PathBuf, what: &'static str, why: String },
}

impl KeyError {
    pub(crate) fn io(what: &'static str, path: &Path) -> impl Fn(io::Error) -> Self {
        move |error| Self::Io { path: path.to_owned(), what, why: error.to_string() }
    }
}
