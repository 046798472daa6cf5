//! The blocks that the tags of a filter name.

use foreseal_node::View;

use crate::{RangeError, params::Tag};

/// Blocks from `from` to `to`, at least one; only `pending` as an upper bound reaches the block being built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    pub from: u64,
    pub to: u64,
}

impl Range {
    /// The range that the tags name in `view`. `None` is a range that is empty only as yet: a client that goes on from
    /// the block after the last one it has seen, up to a name, may be ahead of that name.
    pub fn resolve(view: &View, from: Tag, to: Tag) -> Result<Option<Self>, RangeError> {
        let (first, last) = (number(view, from), number(view, to));
        match (from, to) {
            _ if first <= last => {
                let beyond = |tag| matches!(tag, Tag::Number(n) if n > view.latest().number());
                if beyond(to) || (beyond(from) && to != Tag::Pending) {
                    return Err(RangeError::BeyondHead);
                }
                Ok(Some(Self { from: first, to: last }))
            }
            (Tag::Number(_), Tag::Number(_)) => Err(RangeError::Reversed),
            (Tag::Number(_), _) => Ok(None),
            _ => Err(RangeError::Reversed),
        }
    }
}

/// The block that a tag names in `view`.
pub fn number(view: &View, tag: Tag) -> u64 {
    match tag {
        Tag::Number(number) => number,
        Tag::Latest => view.latest().number(),
        Tag::Pending => view.pending().number(),
        Tag::Safe => view.safe(),
        Tag::Finalized => view.finalized(),
        Tag::Earliest => 0,
    }
}
