//! Content and position of a filter, and their encoding for another process.

use std::sync::Arc;

use alloy_primitives::{Address, B256, Bytes};
use alloy_rlp::{Error, Result, RlpDecodable, RlpEncodable};
use foreseal_chain::View;

use crate::{
    logs::Cursor,
    params::{BlockSelection, Filter, Tag},
};

/// Content and position of a filter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FilterState {
    Logs {
        filter: Arc<Filter>,
        cursor: Cursor,
    },
    Blocks(SeenBlock),
    /// Number of the next arrival in the pool of the process that stores the filter.
    Transactions(u64),
}

/// New position of a filter, computed from the chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FilterPosition {
    Logs(Cursor),
    Blocks(SeenBlock),
}

/// Last sealed block that a filter returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, RlpEncodable, RlpDecodable)]
pub struct SeenBlock {
    pub number: u64,
    pub hash: B256,
    /// Number of the finalized block at that time.
    pub finalized: u64,
}

impl SeenBlock {
    /// Returns the position after the latest sealed block.
    pub fn now(view: &View) -> Self {
        let latest = view.latest();
        Self { number: latest.number(), hash: latest.block.hash, finalized: view.finalized() }
    }
}

#[derive(Default, RlpEncodable, RlpDecodable)]
pub struct FilterStateWire {
    /// Present for log filters only.
    filter: Vec<FilterWire>,
    position: FilterPositionWire,
    next: u64,
}

/// Holds one of the two; neither for transaction filters.
#[derive(Default, RlpEncodable, RlpDecodable)]
pub struct FilterPositionWire {
    cursor: Bytes,
    seen: Vec<SeenBlock>,
}

#[derive(RlpEncodable, RlpDecodable)]
struct FilterWire {
    /// Holds one hash, or two tags in `tags`.
    hash: Vec<B256>,
    tags: Vec<TagWire>,
    addresses: Vec<Address>,
    topics: Vec<Vec<B256>>,
}

#[derive(RlpEncodable, RlpDecodable)]
struct TagWire {
    kind: u8,
    number: u64,
}

impl FilterState {
    pub fn wire(&self) -> FilterStateWire {
        match self {
            Self::Logs { filter, cursor } => FilterStateWire {
                filter: vec![FilterWire::of(filter)],
                position: FilterPosition::Logs(cursor.clone()).wire(),
                next: 0,
            },
            Self::Blocks(seen) => FilterStateWire {
                position: FilterPosition::Blocks(*seen).wire(),
                ..FilterStateWire::default()
            },
            Self::Transactions(next) => FilterStateWire { next: *next, ..FilterStateWire::default() },
        }
    }

    pub fn of(FilterStateWire { filter, position, next }: FilterStateWire) -> Result<Self> {
        match (filter.into_iter().next(), position.seen.first()) {
            (Some(filter), _) => {
                Ok(Self::Logs { filter: Arc::new(filter.read()?), cursor: position.cursor()? })
            }
            (None, Some(seen)) => Ok(Self::Blocks(*seen)),
            (None, None) => Ok(Self::Transactions(next)),
        }
    }
}

impl FilterPosition {
    pub fn wire(&self) -> FilterPositionWire {
        match self {
            Self::Logs(cursor) => {
                FilterPositionWire { cursor: cursor.encode().into(), ..FilterPositionWire::default() }
            }
            Self::Blocks(seen) => FilterPositionWire { seen: vec![*seen], ..FilterPositionWire::default() },
        }
    }

    pub fn of(position: &FilterPositionWire) -> Result<Self> {
        match position.seen.first() {
            Some(seen) => Ok(Self::Blocks(*seen)),
            None => position.cursor().map(Self::Logs),
        }
    }
}

impl FilterPositionWire {
    fn cursor(&self) -> Result<Cursor> {
        Cursor::decode(&self.cursor).ok_or(Error::Custom("the cursor of a filter does not decode"))
    }
}

impl FilterWire {
    fn of(filter: &Filter) -> Self {
        let (hash, tags) = match filter.blocks {
            BlockSelection::Hash(hash) => (vec![hash], Vec::new()),
            BlockSelection::Range { from, to } => (Vec::new(), vec![TagWire::of(from), TagWire::of(to)]),
        };
        Self { hash, tags, addresses: filter.addresses.clone(), topics: filter.topics.clone() }
    }

    fn read(self) -> Result<Filter> {
        let blocks = match (self.hash.as_slice(), self.tags.as_slice()) {
            ([hash], []) => BlockSelection::Hash(*hash),
            ([], [from, to]) => BlockSelection::Range { from: from.read()?, to: to.read()? },
            _ => return Err(Error::Custom("a filter has one hash or two tags")),
        };
        Ok(Filter { blocks, addresses: self.addresses, topics: self.topics })
    }
}

impl TagWire {
    fn of(tag: Tag) -> Self {
        let (kind, number) = match tag {
            Tag::Number(number) => (0, number),
            Tag::Latest => (1, 0),
            Tag::Pending => (2, 0),
            Tag::Safe => (3, 0),
            Tag::Finalized => (4, 0),
            Tag::Earliest => (5, 0),
        };
        Self { kind, number }
    }

    fn read(&self) -> Result<Tag> {
        Ok(match self.kind {
            0 => Tag::Number(self.number),
            1 => Tag::Latest,
            2 => Tag::Pending,
            3 => Tag::Safe,
            4 => Tag::Finalized,
            5 => Tag::Earliest,
            _ => return Err(Error::Custom("unknown kind of block tag")),
        })
    }
}
