//! Resolution of the block tags of a filter.

use foreseal_chain::View;

use crate::{errors::error::RangeError, params::filter::Tag};

/// Blocks from `from` to `to`, at least one. Only `pending` as upper bound includes the pending block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    pub from: u64,
    pub to: u64,
}

impl Range {
    /// Resolves the tags in `view`.
    ///
    /// Returns `None` for a range from a number to a name that is still empty: a client that continues after
    /// its last block may be ahead of that name.
    ///
    /// # Errors
    ///
    /// Returns an error if the range is reversed or extends beyond the head.
    pub fn resolve(view: &View, from: Tag, to: Tag) -> Result<Option<Self>, RangeError> {
        let (first, last) = (number(view, from), number(view, to));
        match (from, to) {
            _ if first <= last => {
                let beyond = |tag| matches!(tag, Tag::Number(n) if n > view.newest_number());
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

/// Returns the number of the block with this tag in `view`.
pub fn number(view: &View, tag: Tag) -> u64 {
    match tag {
        Tag::Number(number) => number,
        Tag::Latest => view.newest_number(),
        Tag::Pending => view.pending().number(),
        Tag::Safe => view.safe(),
        Tag::Finalized => view.finalized(),
        Tag::Earliest => 0,
    }
}
