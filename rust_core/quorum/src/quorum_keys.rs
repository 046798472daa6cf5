//! Names of the keys of a chain.

use foreseal_journal::Identity;

use crate::quorum_store::KeyRange;

/// Size of the parts of a record in bytes; etcd accepts requests up to 1.5 MiB.
pub const PART_SIZE: usize = 1 << 20;
/// Maximum number of parts of a record.
pub(crate) const MAX_PARTS: u32 = 256;
/// Maximum size of a record in bytes.
pub(crate) const MAX_RECORD_SIZE: usize = MAX_PARTS as usize * PART_SIZE;

/// Names of the keys of a chain, all below one prefix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuorumKeys {
    prefix: String,
}

impl QuorumKeys {
    /// Returns the keys of a chain below `prefix`, the path of an [`EtcdUrl`](crate::EtcdUrl).
    pub fn new(prefix: &str, identity: &Identity) -> Self {
        let prefix = prefix.trim_end_matches('/');
        Self { prefix: format!("{prefix}/{}-{}/", identity.chain_id, identity.genesis) }
    }

    /// Returns the key of the [`Owner`](crate::Owner).
    pub fn owner(&self) -> String {
        format!("{}owner", self.prefix)
    }

    /// Returns the key of the counter that an idle owner writes.
    pub fn beat(&self) -> String {
        format!("{}beat", self.prefix)
    }

    /// Returns the key of the [`QuorumHead`](crate::QuorumHead).
    pub fn head(&self) -> String {
        format!("{}head", self.prefix)
    }

    /// Returns the key that a measurement overwrites.
    pub fn measurement(&self) -> String {
        format!("{}check", self.prefix)
    }

    /// Returns the key of one part of a record.
    pub fn record_part(&self, sequence: u64, index: u32) -> String {
        format!("{}s/{sequence:016x}/{index:04x}", self.prefix)
    }

    /// Returns the first key after all parts of a record.
    pub fn record_end(&self, sequence: u64) -> String {
        format!("{}s/{sequence:016x}0", self.prefix)
    }

    /// Returns the first possible key of all records.
    pub fn first_record(&self) -> String {
        format!("{}s/", self.prefix)
    }

    /// Returns the first key after all records.
    pub fn records_end(&self) -> String {
        format!("{}s0", self.prefix)
    }

    /// Returns sequence number and part of a record's key; `None` for other keys.
    pub fn parse_record(&self, key: &str) -> Option<(u64, u32)> {
        let (sequence, index) = key.strip_prefix(&self.first_record())?.split_once('/')?;
        let sequence = u64::from_str_radix(sequence, 16).ok()?;
        let index = u32::from_str_radix(index, 16).ok()?;
        (self.record_part(sequence, index) == key).then_some((sequence, index))
    }

    /// Returns the key of a [`MemberEntry`](crate::MemberEntry) by its [`key_name`](crate::MemberEntry::key_name).
    pub fn member(&self, name: &str) -> String {
        format!("{}members/{name}", self.prefix)
    }

    /// Returns the range of all members.
    pub fn members(&self) -> KeyRange {
        KeyRange {
            from: format!("{}members/", self.prefix),
            to: format!("{}members0", self.prefix),
            limit: 0,
            keys_only: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use alloy_primitives::B256;

    use super::*;

    fn keys() -> QuorumKeys {
        let identity = Identity { chain_id: 7, genesis: B256::repeat_byte(0xab) };
        QuorumKeys::new("/foreseal/", &identity)
    }

    #[test]
    fn keys_name_chain_and_genesis() {
        let genesis = format!("0x{}", "ab".repeat(32));
        assert_eq!(keys().owner(), format!("/foreseal/7-{genesis}/owner"));
        assert_eq!(keys().record_part(42, 3), format!("/foreseal/7-{genesis}/s/000000000000002a/0003"));
    }

    #[test]
    fn parts_of_a_record_lie_between_its_bounds() {
        let keys = keys();
        for index in [0, 9, 255] {
            let key = keys.record_part(42, index);
            assert_eq!(keys.parse_record(&key), Some((42, index)));
            assert!(key < keys.record_end(42) && keys.record_end(42) < keys.record_part(43, 0));
            assert!(keys.first_record() < key && key < keys.records_end());
        }
        for other in [keys.owner(), keys.first_record(), format!("{}1/0", keys.first_record())] {
            assert_eq!(keys.parse_record(&other), None, "{other}");
        }
    }
}
