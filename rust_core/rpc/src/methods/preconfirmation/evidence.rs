//! Evidence from two contradictory commitments of one signer.

use alloy_primitives::Address;
use serde::Serialize;

use super::{
    invalid_receipt::InvalidReceiptError, receipt::PreconfirmationReceipt, verify::VerifiedPreconfirmation,
};

/// Contradiction between two commitments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Contradiction {
    /// Two steps have the same index in one block.
    TwoSteps,
    /// A step does not follow the step with the previous index, or two steps with the same index have
    /// different predecessors.
    BrokenOrder,
    /// Two transactions have the same position in one block.
    TwoTransactions,
    /// One transaction has two positions.
    TwoPlaces,
}

/// Evidence that a sequencer broke a commitment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Evidence {
    pub contradiction: Contradiction,
    pub signer: Address,
    pub chain_id: u64,
    /// Commitments in the order of the arguments.
    pub promises: [VerifiedPreconfirmation; 2],
}

/// Compares two receipts.
///
/// Returns `None` if both commitments are compatible, or if the signers or chains differ.
///
/// # Errors
///
/// Returns the position (0 or 1) of an invalid receipt, and the reason.
pub fn contradiction(
    one: &PreconfirmationReceipt,
    other: &PreconfirmationReceipt,
) -> Result<Option<Evidence>, (usize, InvalidReceiptError)> {
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

/// Returns `true` if `after` has the index after `before` but does not follow it.
fn skips(before: &VerifiedPreconfirmation, after: &VerifiedPreconfirmation) -> bool {
    before.index.checked_add(1) == Some(after.index) && after.previous != before.hash
}
