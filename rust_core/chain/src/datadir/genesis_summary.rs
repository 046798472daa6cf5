//! Rules and hash of a genesis, in `genesis.rules`: a start of a chain with a store needs no allocation.
//!
//! The file only saves work. It is valid for the genesis file with one checksum, which a start still verifies;
//! without it, or if it is damaged, the whole genesis is read.

use std::{
    fs::File,
    io::{self, Read},
    path::Path,
};

use alloy_genesis::Genesis;
use alloy_primitives::B256;
use foreseal_primitives::{ChainSpec, GenesisError};
use serde::{Deserialize, Serialize};

use super::{checked_file::Checksum, data_dir::GENESIS, error::DataDirError, identity::DirIdentity};
use crate::datadir::checked_file;

/// Name of the file.
pub const GENESIS_SUMMARY: &str = "genesis.rules";
/// Bytes of the genesis file that are read at a time.
const CHUNK_SIZE: usize = 1 << 20;

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct GenesisSummary {
    /// Checksum of the genesis file.
    file: Checksum,
    /// Hash of the genesis block.
    hash: B256,
    /// The genesis without its allocation.
    rules: Genesis,
}

/// Returns the rules of the chain in a data directory without the allocation of its genesis; `None` if they are
/// not recorded for the genesis file that is there.
pub fn summarized_spec(datadir: &Path) -> Result<Option<ChainSpec>, DataDirError> {
    let Some(identity) = DirIdentity::read(datadir)? else { return Ok(None) };
    let Some(summary) = read_summary(datadir) else { return Ok(None) };
    if summary.file != identity.genesis || file_checksum(&datadir.join(GENESIS)).ok() != Some(summary.file) {
        return Ok(None);
    }
    Ok(Some(ChainSpec::without_allocation(summary.rules, summary.hash)?))
}

/// Records the rules and the hash of the genesis block, unless they are recorded.
pub fn record_summary(datadir: &Path, spec: &ChainSpec, hash: B256) -> Result<(), DataDirError> {
    let Some(identity) = DirIdentity::read(datadir)? else { return Ok(()) };
    if read_summary(datadir).is_some_and(|summary| summary.file == identity.genesis) {
        return Ok(());
    }
    let rules = without_allocation(spec.genesis());
    let summary = GenesisSummary { file: identity.genesis, hash, rules };
    let text = serde_json::to_vec_pretty(&summary).map_err(GenesisError::from)?;
    let path = datadir.join(GENESIS_SUMMARY);
    checked_file::replace(&path, &checked_file::seal_json(&text))
        .map_err(|error| DataDirError::io("write", &path, &error))
}

/// Returns the recorded summary; `None` if it is missing, damaged or of another version.
fn read_summary(datadir: &Path) -> Option<GenesisSummary> {
    let content = checked_file::read(&datadir.join(GENESIS_SUMMARY), checked_file::unseal_json).ok()??;
    serde_json::from_slice(&content.ok()?).ok()
}

/// Returns a copy of a genesis without its allocation.
pub(crate) fn without_allocation(genesis: &Genesis) -> Genesis {
    Genesis {
        config: genesis.config.clone(),
        extra_data: genesis.extra_data.clone(),
        alloc: std::collections::BTreeMap::new(),
        nonce: genesis.nonce,
        timestamp: genesis.timestamp,
        gas_limit: genesis.gas_limit,
        difficulty: genesis.difficulty,
        mix_hash: genesis.mix_hash,
        coinbase: genesis.coinbase,
        base_fee_per_gas: genesis.base_fee_per_gas,
        excess_blob_gas: genesis.excess_blob_gas,
        blob_gas_used: genesis.blob_gas_used,
        slot_number: genesis.slot_number,
        number: genesis.number,
        parent_hash: genesis.parent_hash,
    }
}

/// Returns the checksum of a file of any size.
fn file_checksum(path: &Path) -> io::Result<Checksum> {
    let (mut file, mut chunk) = (File::open(path)?, vec![0; CHUNK_SIZE]);
    let (mut blake3, mut crc32c) = (blake3::Hasher::new(), 0);
    loop {
        let read = file.read(&mut chunk)?;
        if read == 0 {
            return Ok(Checksum { blake3: B256::from(*blake3.finalize().as_bytes()), crc32c });
        }
        blake3.update(&chunk[..read]);
        crc32c = crc32c::crc32c_append(crc32c, &chunk[..read]);
    }
}

#[cfg(test)]
mod tests {
    use alloy_primitives::{Address, U256};
    use foreseal_primitives::{DevGenesis, dev_genesis};

    use super::*;
    use crate::datadir::{genesis_hash, stored_spec};

    /// Returns a folder with a genesis of some accounts and the identity of a data directory.
    fn chain_folder() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        let genesis = dev_genesis(&DevGenesis {
            chain_id: 4711,
            gas_limit: 30_000_000,
            timestamp: 0,
            accounts: (1..100).map(Address::with_last_byte).collect(),
            balance: U256::from(7),
        });
        let text = serde_json::to_vec_pretty(&genesis).unwrap();
        std::fs::write(folder.path().join(GENESIS), &text).unwrap();
        DirIdentity::new(genesis.config.chain_id, &text).write(folder.path()).unwrap();
        folder
    }

    #[test]
    fn recorded_rules_equal_those_of_the_genesis() {
        let folder = chain_folder();
        let whole = stored_spec(folder.path()).unwrap().unwrap();
        assert!(summarized_spec(folder.path()).unwrap().is_none());
        record_summary(folder.path(), &whole, genesis_hash(&whole)).unwrap();
        let brief = summarized_spec(folder.path()).unwrap().unwrap();
        assert_eq!(genesis_hash(&brief), genesis_hash(&whole));
        assert!(brief.genesis().alloc.is_empty());
        let rules = Genesis { alloc: whole.genesis().alloc.clone(), ..brief.genesis().clone() };
        assert_eq!(&rules, whole.genesis());
    }

    #[test]
    fn rules_of_another_genesis_file_are_not_used() {
        let folder = chain_folder();
        let whole = stored_spec(folder.path()).unwrap().unwrap();
        record_summary(folder.path(), &whole, genesis_hash(&whole)).unwrap();
        let path = folder.path().join(GENESIS);
        let mut text = std::fs::read(&path).unwrap();
        text.push(b'\n');
        std::fs::write(&path, text).unwrap();
        assert!(summarized_spec(folder.path()).unwrap().is_none());
    }

    #[test]
    fn damaged_rules_are_not_used_and_are_replaced() {
        let folder = chain_folder();
        let whole = stored_spec(folder.path()).unwrap().unwrap();
        record_summary(folder.path(), &whole, genesis_hash(&whole)).unwrap();
        let path = folder.path().join(GENESIS_SUMMARY);
        let mut text = std::fs::read(&path).unwrap();
        text[40] ^= 1;
        std::fs::write(&path, text).unwrap();
        assert!(summarized_spec(folder.path()).unwrap().is_none());
        record_summary(folder.path(), &whole, genesis_hash(&whole)).unwrap();
        assert!(summarized_spec(folder.path()).unwrap().is_some());
    }
}
