//! Two promises of one signer that cannot both be kept.

use alloy_primitives::Address;
use serde::Serialize;

use super::{MisfitError, PreconfirmationReceipt, VerifiedPreconfirmation};

/// How two promises exclude each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Contradiction {
    /// Two steps with one index of one block.
    TwoSteps,
    /// A step does not follow the one that has the index before it, or two steps before it have the same index.
    BrokenOrder,
    /// Two transactions in one place of one block.
    TwoTransactions,
    /// One transaction in two places.
    TwoPlaces,
}

/// What shows that a sequencer broke its word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Evidence {
    pub contradiction: Contradiction,
    pub signer: Address,
    pub chain_id: u64,
    /// In the order in which they were given.
    pub promises: [VerifiedPreconfirmation; 2],
}

/// What two receipts show together; `None` when both promises can be kept, or are not of one signer on one chain.
///
/// # Errors
/// When one of them promises nothing: its position, 0 or 1, and why.
pub fn contradiction(
    one: &PreconfirmationReceipt,
    other: &PreconfirmationReceipt,
) -> Result<Option<Evidence>, (usize, MisfitError)> {
    let one = one.verify(None, None).map_err(|error| (0, error))?;
    let other = other.verify(None, None).map_err(|error| (1, error))?;
    if (one.signer, one.chain_id) != (other.signer, other.chain_id) {
        return Ok(None);
    }
    let evidence = |contradiction| Evidence {
        contradiction,
        signer: one.signer,
        chain_id: one.chain_id,
        promises: [one, other],
    };
    Ok(excludes(&one, &other).map(evidence))
}

fn excludes(one: &VerifiedPreconfirmation, other: &VerifiedPreconfirmation) -> Option<Contradiction> {
    let same_block = one.number == other.number;
    if same_block && one.index == other.index && one.hash != other.hash {
        return Some(Contradiction::TwoSteps);
    }
    let forked = one.index == other.index && one.previous != other.previous;
    if same_block && (forked || skips(one, other) || skips(other, one)) {
        return Some(Contradiction::BrokenOrder);
    }
    let same_transaction = one.transaction_hash == other.transaction_hash;
    let same_place = same_block && one.transaction_index == other.transaction_index;
    match (same_place, same_transaction) {
        (true, false) => Some(Contradiction::TwoTransactions),
        (false, true) => Some(Contradiction::TwoPlaces),
        (true, true) | (false, false) => None,
    }
}

/// Whether `after` is the next step by its index and does not follow `before`.
fn skips(before: &VerifiedPreconfirmation, after: &VerifiedPreconfirmation) -> bool {
    before.index.checked_add(1) == Some(after.index) && after.previous != before.hash
}
