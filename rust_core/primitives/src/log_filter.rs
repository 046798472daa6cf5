//! The filter of a log search.

use std::{
    hash::{Hash, Hasher},
    sync::OnceLock,
};

use alloy_primitives::{Address, B256, Bloom, BloomInput, Log};

/// Addresses, and topics by position, that a log must have, prepared for matching many logs.
#[derive(Clone, Debug, Default)]
pub struct LogFilter {
    addresses: Vec<Address>,
    topics: Vec<Vec<B256>>,
    /// Blooms of each list; a bloom must contain at least one entry of every list. Lists that match anything
    /// are omitted. Computed at the first use: a search of the store needs none.
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
    /// Returns a filter for any of `addresses` and, at each position, any of `topics`; an empty list matches
    /// all. A log with fewer topics than positions never matches.
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

    /// Returns the addresses, ascending and without duplicates; empty for any.
    pub fn addresses(&self) -> &[Address] {
        &self.addresses
    }

    /// Returns the topics by position, ascending and without duplicates; empty for any.
    pub fn topics(&self) -> &[Vec<B256>] {
        &self.topics
    }

    /// Returns the number of addresses and topics.
    pub fn size(&self) -> usize {
        self.addresses.len() + self.topics.iter().map(Vec::len).sum::<usize>()
    }

    /// Returns `true` if logs with this bloom may match.
    pub fn may_match(&self, bloom: &Bloom) -> bool {
        self.blooms().iter().all(|any| any.iter().any(|bits| bloom.contains(bits)))
    }

    /// Returns `true` if the log matches.
    pub fn matches(&self, log: &Log) -> bool {
        let topics = log.topics();
        is_any(&self.addresses, &log.address)
            && self.topics.len() <= topics.len()
            && self.topics.iter().zip(topics).all(|(any, topic)| is_any(any, topic))
    }
}

/// Returns `true` if an ascending list contains the value; an empty list contains every value.
fn is_any<T: Ord>(list: &[T], value: &T) -> bool {
    list.is_empty() || list.binary_search(value).is_ok()
}

fn bits(bytes: &[u8]) -> Bloom {
    BloomInput::Raw(bytes).into()
}
