//! Search criteria of the index: an address, a topic at a position, or the number of topics.

use alloy_primitives::{Address, B256, Log};
use foreseal_primitives::LogFilter;

/// Maximum number of topics of a log.
pub(super) const MAX_TOPICS: usize = 4;
/// Length in bytes of the longest criterion: kind and topic.
const MAX_LENGTH: usize = 33;
/// Length in bytes of a chunk number.
const CHUNK_LENGTH: usize = 4;
/// First byte of an address criterion. Those of topics at the four
/// positions follow, then that of the topic count.
const ADDRESS: u8 = 0;
const FIRST_TOPIC: u8 = 1;
const TOPIC_COUNT: u8 = 5;

/// A property that logs can share: a kind and its bytes, which are the prefix of keys in the index.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Criterion {
    bytes: [u8; MAX_LENGTH],
    length: u8,
}

impl Criterion {
    fn new(kind: u8, of: &[u8]) -> Self {
        let mut bytes = [0; MAX_LENGTH];
        bytes[0] = kind;
        bytes[1..=of.len()].copy_from_slice(of);
        let length = u8::try_from(1 + of.len()).expect("at most 33 bytes");
        Self { bytes, length }
    }

    fn address(address: &Address) -> Self {
        Self::new(ADDRESS, address.as_slice())
    }

    fn topic(position: usize, topic: &B256) -> Self {
        let position = u8::try_from(position).expect("a log has at most four topics");
        Self::new(FIRST_TOPIC + position, topic.as_slice())
    }

    /// Matches logs with exactly this many topics.
    fn topic_count(count: usize) -> Self {
        Self::new(TOPIC_COUNT, &[u8::try_from(count).expect("a log has at most four topics")])
    }

    /// Returns all criteria by which `log` is found.
    pub(super) fn all_of(log: &Log) -> impl Iterator<Item = Self> {
        let topics = log.topics();
        let of_topics = topics.iter().enumerate().map(|(position, topic)| Self::topic(position, topic));
        [Self::address(&log.address), Self::topic_count(topics.len())].into_iter().chain(of_topics)
    }

    /// Returns the kind and its bytes.
    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length)]
    }

    /// Returns the key of one of its chunks.
    pub(super) fn key(&self, chunk: u32) -> IndexKey {
        let length = usize::from(self.length);
        let mut bytes = [0; MAX_LENGTH + CHUNK_LENGTH];
        bytes[..length].copy_from_slice(self.as_bytes());
        bytes[length..length + CHUNK_LENGTH].copy_from_slice(&chunk.to_be_bytes());
        IndexKey { bytes, length: length + CHUNK_LENGTH }
    }

    /// Returns the chunk number in a key; `None` for a key of another criterion.
    pub(super) fn chunk_of(&self, key: &[u8]) -> Option<u32> {
        let chunk = key.strip_prefix(self.as_bytes())?;
        chunk.try_into().ok().map(u32::from_be_bytes)
    }
}

impl std::fmt::Debug for Criterion {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(self, f)
    }
}

impl std::fmt::Display for Criterion {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let value = &self.as_bytes()[1..];
        match self.bytes[0] {
            ADDRESS => write!(f, "address {}", alloy_primitives::hex::encode_prefixed(value)),
            TOPIC_COUNT => write!(f, "{} topics", value[0]),
            kind => {
                let position = kind - FIRST_TOPIC;
                write!(f, "topic {} at position {position}", alloy_primitives::hex::encode_prefixed(value))
            }
        }
    }
}

/// A key of the index.
pub(super) struct IndexKey {
    bytes: [u8; MAX_LENGTH + CHUNK_LENGTH],
    length: usize,
}

impl AsRef<[u8]> for IndexKey {
    fn as_ref(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

/// Returns the criteria of a filter: a log must match one of each list. Without any list, every log matches.
pub(super) fn criteria_of(filter: &LogFilter) -> Vec<Vec<Criterion>> {
    let topics = filter.topics();
    let addresses = filter.addresses().iter().map(Criterion::address).collect();
    let of_position = |(position, any): (usize, &Vec<B256>)| {
        any.iter().map(|topic| Criterion::topic(position, topic)).collect()
    };
    let mut lists = vec![addresses];
    lists.extend(topics.iter().take(MAX_TOPICS).enumerate().map(of_position));
    lists.retain(|any: &Vec<_>| !any.is_empty());
    // Trailing positions that accept any topic still require that a topic exists.
    if topics.last().is_some_and(Vec::is_empty) || topics.len() > MAX_TOPICS {
        lists.push((topics.len()..=MAX_TOPICS).map(Criterion::topic_count).collect());
    }
    lists
}
