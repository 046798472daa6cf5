//! Identity of a data directory: its genesis file and its signers, in `identity.json`, which has a checksum.

use std::path::{Path, PathBuf};

use alloy_primitives::Address;
use serde::{Deserialize, Serialize};

use super::{
    checked_file::{self, Checksum, DamagedFile},
    error::DataDirError,
};

/// Name of the file.
pub const IDENTITY: &str = "identity.json";
/// Format version that this program reads and writes.
const FORMAT: u32 = 1;

/// A signer, with the first block that it signs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SignerSince {
    pub address: Address,
    /// First block whose steps it may have signed.
    pub first_block: u64,
}

/// Identity of a data directory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DirIdentity {
    pub format: u32,
    pub chain_id: u64,
    /// Checksum of `genesis.json`.
    pub genesis: Checksum,
    /// Signers, oldest first; the last one is active.
    pub signers: Vec<SignerSince>,
}

impl DirIdentity {
    /// Returns the identity of a directory without signed steps.
    pub fn new(chain_id: u64, genesis: &[u8]) -> Self {
        Self { format: FORMAT, chain_id, genesis: Checksum::new(genesis), signers: Vec::new() }
    }

    /// Reads the identity of a data directory; `None` if it has none, as before its first start.
    ///
    /// # Errors
    /// Returns [`DataDirError::Damaged`] if the file is damaged, and [`DataDirError::NewerIdentity`] for another
    /// format.
    pub fn read(datadir: &Path) -> Result<Option<Self>, DataDirError> {
        let path = datadir.join(IDENTITY);
        let content = checked_file::read(&path, checked_file::unseal_json)
            .map_err(|error| DataDirError::io("read", &path, &error))?;
        let Some(text) = content.transpose()? else { return Ok(None) };
        match serde_json::from_slice::<AnyFormat>(&text) {
            Ok(AnyFormat { format: FORMAT }) => {}
            Ok(AnyFormat { format: version }) => {
                return Err(DataDirError::NewerIdentity { path, version, supported: FORMAT });
            }
            Err(_) => return Err(damaged(path)),
        }
        serde_json::from_slice(&text).map(Some).map_err(|_| damaged(path))
    }

    /// Writes the identity durably.
    pub fn write(&self, datadir: &Path) -> Result<(), DataDirError> {
        let path = datadir.join(IDENTITY);
        let text = serde_json::to_vec_pretty(self).map_err(foreseal_primitives::GenesisError::from)?;
        checked_file::replace(&path, &checked_file::seal_json(&text))
            .map_err(|error| DataDirError::io("write", &path, &error))
    }

    /// Returns the active signer; `None` if no step is signed.
    pub fn signer(&self) -> Option<Address> {
        self.signers.last().map(|signer| signer.address)
    }
}

fn damaged(path: PathBuf) -> DataDirError {
    DamagedFile { path, mismatch: checked_file::Mismatch { offset: None } }.into()
}

/// The part of the file that every format has.
#[derive(Deserialize)]
struct AnyFormat {
    format: u32,
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may panic")]
mod tests {
    use super::*;

    #[test]
    fn an_identity_of_a_newer_format_is_rejected() {
        let folder = tempfile::tempdir().unwrap();
        let text = checked_file::seal_json(b"{\n  \"format\": 2,\n  \"network\": \"new\"\n}");
        std::fs::write(folder.path().join(IDENTITY), text).unwrap();
        let error = DirIdentity::read(folder.path()).unwrap_err().to_string();
        assert!(error.ends_with("identity.json has format 2, newer than the supported version 1"), "{error}");
    }
}
