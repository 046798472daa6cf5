//! Protocol between the filter methods and the registry of filters: in process, or encoded as bytes from
//! another process.

use alloy_primitives::B256;
use serde::{Deserialize, Serialize};

use super::filter_state::{FilterPosition, FilterState};

/// Request to the registry of filters.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub enum FilterRequest {
    /// Adds a filter if fewer than `max` exist. A transaction filter starts with the next arrival.
    Add {
        state: FilterState,
        max: u64,
    },
    Get {
        id: u64,
    },
    /// Advances a filter, if it still has the version that `Get` returned.
    Advance {
        id: u64,
        version: u64,
        position: FilterPosition,
    },
    /// Returns the next arrivals of a transaction filter, which advances past them.
    NextArrivals {
        id: u64,
        max: u64,
    },
    Remove {
        id: u64,
    },
}

/// Response of the registry.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub enum FilterResponse {
    Added {
        id: u64,
    },
    /// Current state of the filter. The version changes whenever the filter advances.
    Found {
        version: u64,
        state: FilterState,
    },
    Advanced,
    Arrivals(Vec<B256>),
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

#[cfg(test)]
mod tests {
    use alloy_primitives::Address;
    use foreseal_chain::ReadMode;
    use foreseal_primitives::{
        LogFilter,
        wire::{decode, to_vec},
    };
    use proptest::prelude::*;

    use super::*;
    use crate::{
        params::filter::{BlockSelection, Filter, Tag},
        streams::{filters::filter_state::SeenBlock, log_cursor::LogCursor},
    };

    fn hash() -> impl Strategy<Value = B256> {
        any::<[u8; 32]>().prop_map(B256::from)
    }

    fn tag() -> impl Strategy<Value = Tag> {
        let names = vec![Tag::Latest, Tag::Pending, Tag::Safe, Tag::Finalized, Tag::Earliest];
        prop_oneof![any::<u64>().prop_map(Tag::Number), prop::sample::select(names)]
    }

    fn seen() -> impl Strategy<Value = SeenBlock> {
        (any::<u64>(), hash(), any::<u64>()).prop_map(|(number, hash, finalized)| SeenBlock {
            number,
            hash,
            finalized,
        })
    }

    fn state() -> impl Strategy<Value = FilterState> {
        let blocks = prop_oneof![
            hash().prop_map(BlockSelection::Hash),
            (tag(), tag()).prop_map(|(from, to)| BlockSelection::Range { from, to }),
        ];
        let addresses = prop::collection::vec(any::<[u8; 20]>().prop_map(Address::from), 0..3);
        let topics = prop::collection::vec(prop::collection::vec(hash(), 0..3), 0..4);
        let modes = vec![ReadMode::Standard, ReadMode::Sealed, ReadMode::Preconfirmed];
        let logs = (blocks, addresses, topics, any::<u64>(), any::<u64>(), prop::sample::select(modes));
        let logs = logs.prop_map(|(blocks, addresses, topics, from, finalized, mode)| {
            let wanted = LogFilter::new(addresses.clone(), topics.clone());
            let cursor = LogCursor::new(&wanted, from, finalized);
            FilterState::Logs { filter: Filter { blocks, addresses, topics }.into(), cursor, mode }
        });
        prop_oneof![
            logs,
            seen().prop_map(FilterState::Blocks),
            any::<u64>().prop_map(FilterState::Transactions)
        ]
    }

    fn position() -> impl Strategy<Value = FilterPosition> {
        state().prop_map(|state| match state {
            FilterState::Logs { cursor, .. } => FilterPosition::Logs(cursor),
            FilterState::Blocks(seen) => FilterPosition::Blocks(seen),
            FilterState::Transactions(number) => {
                FilterPosition::Blocks(SeenBlock { number, hash: B256::ZERO, finalized: 0 })
            }
        })
    }

    fn request() -> impl Strategy<Value = FilterRequest> {
        prop_oneof![
            (state(), any::<u64>()).prop_map(|(state, max)| FilterRequest::Add { state, max }),
            any::<u64>().prop_map(|id| FilterRequest::Get { id }),
            (any::<u64>(), any::<u64>(), position())
                .prop_map(|(id, version, position)| FilterRequest::Advance { id, version, position }),
            any::<(u64, u64)>().prop_map(|(id, max)| FilterRequest::NextArrivals { id, max }),
            any::<u64>().prop_map(|id| FilterRequest::Remove { id }),
        ]
    }

    fn response() -> impl Strategy<Value = FilterResponse> {
        prop_oneof![
            any::<u64>().prop_map(|id| FilterResponse::Added { id }),
            (any::<u64>(), state()).prop_map(|(version, state)| FilterResponse::Found { version, state }),
            Just(FilterResponse::Advanced),
            prop::collection::vec(hash(), 0..5).prop_map(FilterResponse::Arrivals),
            any::<bool>().prop_map(FilterResponse::Removed),
            Just(FilterResponse::NotFound),
            any::<u64>().prop_map(|max| FilterResponse::TooMany { max }),
            any::<(u64, u64)>().prop_map(|(missed, max)| FilterResponse::Missed { missed, max }),
        ]
    }

    proptest! {
        #[test]
        fn requests_and_responses_round_trip(request in request(), response in response()) {
            prop_assert_eq!(decode(&to_vec(&request)), Ok(request));
            prop_assert_eq!(decode(&to_vec(&response)), Ok(response));
        }

        #[test]
        fn corrupted_bytes_are_read_or_rejected(
            request in request(),
            response in response(),
            at in any::<prop::sample::Index>(),
            byte in any::<u8>(),
            any in prop::collection::vec(any::<u8>(), 0..80),
        ) {
            for mut bytes in [to_vec(&request), to_vec(&response), any] {
                if !bytes.is_empty() {
                    let at = at.index(bytes.len());
                    bytes[at] = byte;
                }
                let _ = (decode::<FilterRequest>(&bytes), decode::<FilterResponse>(&bytes));
            }
        }
    }
}
