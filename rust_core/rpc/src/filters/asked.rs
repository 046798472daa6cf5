//! Protocol between the filter methods and the registry of filters: in process, or encoded as bytes from
//! another process.

use alloy_primitives::B256;
use alloy_rlp::{Encodable, Error, Result, RlpDecodable, RlpEncodable};

use super::watch::{Place, PlaceWire, Watch, WatchWire};

/// Request to the registry of filters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Question {
    /// Adds a filter if fewer than `max` exist. A transaction filter starts with the next arrival.
    Add {
        watch: Watch,
        max: u64,
    },
    Look {
        id: u64,
    },
    /// Advances a filter, if it still has the version that `Look` returned.
    Move {
        id: u64,
        version: u64,
        place: Place,
    },
    /// Returns the next arrivals of a transaction filter, which advances past them.
    Take {
        id: u64,
        most: u64,
    },
    Remove {
        id: u64,
    },
}

/// Response of the registry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Said {
    Added {
        id: u64,
    },
    /// Current state of the filter. The version changes whenever the filter advances.
    Found {
        version: u64,
        watch: Watch,
    },
    Moved,
    Taken(Vec<B256>),
    Removed(bool),
    NotFound,
    TooMany {
        max: u64,
    },
    /// Arrivals that are no longer buffered.
    Missed {
        missed: u64,
        max: u64,
    },
}

#[derive(Default, RlpEncodable, RlpDecodable)]
struct Wire {
    kind: u8,
    one: u64,
    two: u64,
    watch: Vec<WatchWire>,
    place: Vec<PlaceWire>,
    hashes: Vec<B256>,
}

impl Wire {
    fn new(kind: u8, one: u64, two: u64) -> Self {
        Self { kind, one, two, ..Self::default() }
    }

    fn bytes(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.length());
        self.encode(&mut out);
        out
    }

    fn watch(self) -> Result<Watch> {
        Watch::of(self.watch.into_iter().next().ok_or(Error::Custom("a filter is missing"))?)
    }
}

impl Question {
    pub fn encode(&self) -> Vec<u8> {
        match self {
            Self::Add { watch, max } => Wire { watch: vec![watch.wire()], ..Wire::new(0, *max, 0) },
            Self::Look { id } => Wire::new(1, *id, 0),
            Self::Move { id, version, place } => {
                Wire { place: vec![place.wire()], ..Wire::new(2, *id, *version) }
            }
            Self::Take { id, most } => Wire::new(3, *id, *most),
            Self::Remove { id } => Wire::new(4, *id, 0),
        }
        .bytes()
    }

    pub fn decode(bytes: &[u8]) -> Result<Self> {
        let wire: Wire = alloy_rlp::decode_exact(bytes)?;
        let (id, two) = (wire.one, wire.two);
        Ok(match wire.kind {
            0 => Self::Add { max: id, watch: wire.watch()? },
            1 => Self::Look { id },
            2 => {
                let place = wire.place.first().ok_or(Error::Custom("a place is missing"))?;
                Self::Move { id, version: two, place: Place::of(place)? }
            }
            3 => Self::Take { id, most: two },
            4 => Self::Remove { id },
            _ => return Err(Error::Custom("unknown question about filters")),
        })
    }
}

impl Said {
    pub fn encode(&self) -> Vec<u8> {
        match self {
            Self::Added { id } => Wire::new(0, *id, 0),
            Self::Found { version, watch } => Wire { watch: vec![watch.wire()], ..Wire::new(1, *version, 0) },
            Self::Moved => Wire::new(2, 0, 0),
            Self::Taken(hashes) => Wire { hashes: hashes.clone(), ..Wire::new(3, 0, 0) },
            Self::Removed(removed) => Wire::new(4, u64::from(*removed), 0),
            Self::NotFound => Wire::new(5, 0, 0),
            Self::TooMany { max } => Wire::new(6, *max, 0),
            Self::Missed { missed, max } => Wire::new(7, *missed, *max),
        }
        .bytes()
    }

    pub fn decode(bytes: &[u8]) -> Result<Self> {
        let wire: Wire = alloy_rlp::decode_exact(bytes)?;
        Ok(match wire.kind {
            0 => Self::Added { id: wire.one },
            1 => Self::Found { version: wire.one, watch: wire.watch()? },
            2 => Self::Moved,
            3 => Self::Taken(wire.hashes),
            4 => Self::Removed(wire.one > 0),
            5 => Self::NotFound,
            6 => Self::TooMany { max: wire.one },
            7 => Self::Missed { missed: wire.one, max: wire.two },
            _ => return Err(Error::Custom("unknown answer about filters")),
        })
    }
}

#[cfg(test)]
mod tests {
    use alloy_primitives::Address;
    use foreseal_primitives::LogFilter;
    use proptest::prelude::*;

    use super::*;
    use crate::{
        filters::watch::Seen,
        logs::Cursor,
        params::{BlockSelection, Filter, Tag},
    };

    fn hash() -> impl Strategy<Value = B256> {
        any::<[u8; 32]>().prop_map(B256::from)
    }

    fn tag() -> impl Strategy<Value = Tag> {
        let names = vec![Tag::Latest, Tag::Pending, Tag::Safe, Tag::Finalized, Tag::Earliest];
        prop_oneof![any::<u64>().prop_map(Tag::Number), prop::sample::select(names)]
    }

    fn seen() -> impl Strategy<Value = Seen> {
        (any::<u64>(), hash(), any::<u64>()).prop_map(|(number, hash, finalized)| Seen {
            number,
            hash,
            finalized,
        })
    }

    fn watch() -> impl Strategy<Value = Watch> {
        let blocks = prop_oneof![
            hash().prop_map(BlockSelection::Hash),
            (tag(), tag()).prop_map(|(from, to)| BlockSelection::Range { from, to }),
        ];
        let addresses = prop::collection::vec(any::<[u8; 20]>().prop_map(Address::from), 0..3);
        let topics = prop::collection::vec(prop::collection::vec(hash(), 0..3), 0..4);
        let logs = (blocks, addresses, topics, any::<u64>(), any::<u64>());
        let logs = logs.prop_map(|(blocks, addresses, topics, from, finalized)| {
            let wanted = LogFilter::new(addresses.clone(), topics.clone());
            let cursor = Cursor::new(&wanted, from, finalized);
            Watch::Logs { filter: Filter { blocks, addresses, topics }.into(), cursor }
        });
        prop_oneof![logs, seen().prop_map(Watch::Blocks), any::<u64>().prop_map(Watch::Transactions)]
    }

    fn place() -> impl Strategy<Value = Place> {
        watch().prop_map(|watch| match watch {
            Watch::Logs { cursor, .. } => Place::Logs(cursor),
            Watch::Blocks(seen) => Place::Blocks(seen),
            Watch::Transactions(number) => Place::Blocks(Seen { number, hash: B256::ZERO, finalized: 0 }),
        })
    }

    fn question() -> impl Strategy<Value = Question> {
        prop_oneof![
            (watch(), any::<u64>()).prop_map(|(watch, max)| Question::Add { watch, max }),
            any::<u64>().prop_map(|id| Question::Look { id }),
            (any::<u64>(), any::<u64>(), place()).prop_map(|(id, version, place)| Question::Move {
                id,
                version,
                place
            }),
            any::<(u64, u64)>().prop_map(|(id, most)| Question::Take { id, most }),
            any::<u64>().prop_map(|id| Question::Remove { id }),
        ]
    }

    fn said() -> impl Strategy<Value = Said> {
        prop_oneof![
            any::<u64>().prop_map(|id| Said::Added { id }),
            (any::<u64>(), watch()).prop_map(|(version, watch)| Said::Found { version, watch }),
            Just(Said::Moved),
            prop::collection::vec(hash(), 0..5).prop_map(Said::Taken),
            any::<bool>().prop_map(Said::Removed),
            Just(Said::NotFound),
            any::<u64>().prop_map(|max| Said::TooMany { max }),
            any::<(u64, u64)>().prop_map(|(missed, max)| Said::Missed { missed, max }),
        ]
    }

    proptest! {
        #[test]
        fn what_is_asked_and_said_is_read_as_it_was(question in question(), said in said()) {
            prop_assert_eq!(Question::decode(&question.encode()), Ok(question));
            prop_assert_eq!(Said::decode(&said.encode()), Ok(said));
        }

        #[test]
        fn broken_bytes_are_read_or_refused(
            question in question(),
            said in said(),
            at in any::<prop::sample::Index>(),
            byte in any::<u8>(),
            any in prop::collection::vec(any::<u8>(), 0..80),
        ) {
            for mut bytes in [question.encode(), said.encode(), any] {
                if !bytes.is_empty() {
                    let at = at.index(bytes.len());
                    bytes[at] = byte;
                }
                let _ = (Question::decode(&bytes), Said::decode(&bytes));
            }
        }
    }
}
