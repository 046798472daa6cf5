//! What a search for logs asks for.

use std::{
    hash::{Hash, Hasher},
    sync::OnceLock,
};

use alloy_primitives::{Address, B256, Bloom, BloomInput, Log};

/// Addresses, and topics by position, that a log must have; ready to be held against many logs.
#[derive(Clone, Debug, Default)]
pub struct LogFilter {
    addresses: Vec<Address>,
    topics: Vec<Vec<B256>>,
    /// Each list by itself must have one that the bloom contains. Lists that match anything are left out. Made when the first
    /// bloom is asked: a search of the store asks none.
    blooms: OnceLock<Vec<Vec<Bloom>>>,
}

impl PartialEq for LogFilter {
    fn eq(&self, other: &Self) -> bool {
        (&self.addresses, &self.topics) == (&other.addresses, &other.topics)
    }
}

impl Eq for LogFilter {}

impl Hash for LogFilter {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (&self.addresses, &self.topics).hash(state);
    }
}

impl LogFilter {
    /// Any of `addresses`, and at each position any of `topics`; an empty list stands for all. A log with fewer topics
    /// than positions never matches.
    pub fn new(mut addresses: Vec<Address>, mut topics: Vec<Vec<B256>>) -> Self {
        addresses.sort_unstable();
        addresses.dedup();
        for any in &mut topics {
            any.sort_unstable();
            any.dedup();
        }
        Self { addresses, topics, blooms: OnceLock::new() }
    }

    fn blooms(&self) -> &[Vec<Bloom>] {
        self.blooms.get_or_init(|| {
            let of_addresses = self.addresses.iter().map(|address| bits(address.as_slice())).collect();
            let of_topics =
                self.topics.iter().map(|any| any.iter().map(|topic| bits(topic.as_slice())).collect());
            std::iter::once(of_addresses).chain(of_topics).filter(|any: &Vec<_>| !any.is_empty()).collect()
        })
    }

    /// Addresses, ascending and each once; empty for any.
    pub fn addresses(&self) -> &[Address] {
        &self.addresses
    }

    /// By position: topics, ascending and each once; empty for any.
    pub fn topics(&self) -> &[Vec<B256>] {
        &self.topics
    }

    /// Addresses and topics together.
    pub fn size(&self) -> usize {
        self.addresses.len() + self.topics.iter().map(Vec::len).sum::<usize>()
    }

    /// Whether logs with this bloom may match.
    pub fn may_match(&self, bloom: &Bloom) -> bool {
        self.blooms().iter().all(|any| any.iter().any(|bits| bloom.contains(bits)))
    }

    /// Whether the log matches.
    pub fn matches(&self, log: &Log) -> bool {
        let topics = log.topics();
        is_any(&self.addresses, &log.address)
            && self.topics.len() <= topics.len()
            && self.topics.iter().zip(topics).all(|(any, topic)| is_any(any, topic))
    }
}

/// Whether an ascending list has the value; an empty one stands for all values.
fn is_any<T: Ord>(list: &[T], value: &T) -> bool {
    list.is_empty() || list.binary_search(value).is_ok()
}

fn bits(bytes: &[u8]) -> Bloom {
    BloomInput::Raw(bytes).into()
}
