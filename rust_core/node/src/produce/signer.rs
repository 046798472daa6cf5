//! Admission of the signer: it decides whose key may sign further steps in a data directory.
//!
//! The signer's address is recorded in `identity.json`. A directory without a recorded signer is that of a replica,
//! or an imported chain: when it starts to produce, the signer is recovered from the newest signed step.

use std::sync::Arc;

use alloy_primitives::{Address, B256};
use foreseal_chain::datadir::{DataDir, SignerSince};
use foreseal_journal::{Disk, Identity, JournalReader, Record};
use foreseal_primitives::{ChainSpec, CommitmentDomain, Flashblock, FlashblockCommitment, StepSignature};
use foreseal_store::Store;

use crate::{
    errors::{key_error::KeyError, node_error::NodeError},
    produce::step_signer::StepSigner,
    settings::{Settings, environment::NodeEnvironment},
};

/// Number of newest stored blocks that are searched for a signed step.
const SEARCHED: u64 = 1_024;

/// Reads or creates the signing key, and records its address; `None` on a node that makes no steps.
///
/// # Errors
/// Returns [`KeyError::Missing`] or [`KeyError::OtherSigner`] if another key signed the steps in the
/// directory, unless the settings allow a new signer.
pub(crate) fn admit_signer(
    datadir: &DataDir,
    settings: &Settings,
    spec: &ChainSpec,
    store: &Store,
    environment: &mut NodeEnvironment,
) -> Result<Option<StepSigner>, NodeError> {
    let chain_id = spec.chain_id();
    let (mut identity, recorded) = datadir.identity(chain_id)?;
    if !settings.produce {
        if !recorded {
            identity.write(datadir.path())?;
        }
        return Ok(None);
    }
    let mut expected = identity.signer();
    if expected.is_none() {
        expected = newest_signer(datadir, store, chain_id, &environment.disk)?;
    }
    let own = datadir.key();
    let path = settings.sequencer_key.as_deref().unwrap_or(&own);
    let mut absent = settings.sequencer_key.is_none() && StepSigner::is_absent(path)?;
    if absent && expected.is_some_and(|signer| StepSigner::has_draft(path, chain_id, signer)) {
        // An earlier start was killed after it recorded the new signer and before it moved the key into
        // place.
        StepSigner::adopt_draft(path)?;
        absent = false;
    }
    let signer = match (absent, expected) {
        (false, _) => StepSigner::read(path, chain_id)?,
        (true, Some(signer)) if !settings.new_sequencer_key => {
            return Err(KeyError::Missing { path: path.to_owned(), signer }.into());
        }
        (true, _) => StepSigner::draft(path, chain_id, (environment.secret)())?,
    };
    let address = signer.address();
    if let Some(expected) = expected
        && expected != address
        && !settings.new_sequencer_key
    {
        return Err(KeyError::OtherSigner { path: path.to_owned(), found: address, expected }.into());
    }
    // The recovered signer is assumed to have signed from the first block.
    let first = match (identity.signers.is_empty(), expected) {
        (true, Some(expected)) => Some(SignerSince { address: expected, first_block: 0 }),
        _ => None,
    };
    identity.signers.extend(first);
    let changed = identity.signer() != Some(address);
    if changed {
        let first_block = store.head()?.map_or(0, |head| head.number.saturating_add(1));
        if let Some(expected) = expected {
            tracing::warn!(before = %expected, now = %address, first_block, "steps have a new signer");
        }
        identity.signers.push(SignerSince { address, first_block });
    }
    if changed || !recorded || first.is_some() {
        identity.write(datadir.path())?;
    }
    if absent {
        // The key is moved into place last, because a key without its record would be rejected.
        StepSigner::adopt_draft(path)?;
    }
    Ok(Some(signer))
}

/// Returns the signer of the newest signed step in journal or store; `None` if neither holds one.
fn newest_signer(
    datadir: &DataDir,
    store: &Store,
    chain_id: u64,
    disk: &Arc<dyn Disk>,
) -> Result<Option<Address>, NodeError> {
    let domain = CommitmentDomain::new(chain_id);
    let newest = match newest_in_journal(datadir, store, chain_id, disk.clone())? {
        Some(step) => Some(step),
        None => newest_in_store(store)?,
    };
    Ok(newest.and_then(|(promise, signature)| promise.signer(domain, &signature)))
}

type Signed = (FlashblockCommitment, StepSignature);

fn newest_in_journal(
    datadir: &DataDir,
    store: &Store,
    chain_id: u64,
    disk: Arc<dyn Disk>,
) -> Result<Option<Signed>, NodeError> {
    let identity = Identity { chain_id, genesis: store.options().genesis };
    let journal_reader = JournalReader::new(datadir.journal(), disk, identity, u64::MAX);
    let mut newest = None;
    // Opening the journal reports damage; the search uses the appends before it.
    let Ok(appends) = journal_reader.raw_appends(store.progress()?.journal_sequence) else { return Ok(None) };
    for append in appends.map_while(Result::ok) {
        for record in append.decode().map(|append| append.records).unwrap_or_default() {
            if let Record::Step(step) | Record::Override { step, .. } = record
                && let Some(signature) = step.signature
            {
                newest = Some((promise_of(&step), signature));
            }
        }
    }
    Ok(newest)
}

fn promise_of(step: &Flashblock) -> FlashblockCommitment {
    let Flashblock { number, index, hash, previous, time, .. } = *step;
    FlashblockCommitment { number, index, hash, previous, time }
}

fn newest_in_store(store: &Store) -> Result<Option<Signed>, NodeError> {
    let Some(head) = store.head()? else { return Ok(None) };
    let reader = store.reader()?;
    for number in (head.number.saturating_sub(SEARCHED)..=head.number).rev() {
        let Some(steps) = reader.steps(number)? else { continue };
        let Some(at) = steps.iter().rposition(|step| step.signature.is_some()) else { continue };
        let Some(signature) = steps[at].signature else { continue };
        let previous = match at.checked_sub(1) {
            Some(before) => steps[before].hash,
            None => steps[at].header.parent_hash,
        };
        let hash: B256 = steps[at].hash;
        let index = u64::try_from(at).unwrap_or(u64::MAX);
        return Ok(Some((
            FlashblockCommitment { number, index, hash, previous, time: steps[at].time },
            signature,
        )));
    }
    Ok(None)
}
