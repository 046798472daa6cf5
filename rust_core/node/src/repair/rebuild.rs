//! Rebuilding of a store from the sealed blocks of another node, up to where the journal continues.

use std::{ops::ControlFlow, path::Path, sync::Arc};

use foreseal_chain::{SealedPosition, datadir::BackupEnd};
use foreseal_primitives::ChainSpec;
use foreseal_store::{Store, StoreError};

use crate::{
    errors::node_error::NodeError,
    repair::{
        errors::StoreRepairError,
        plan::{FetchPlan, ProgressCallback, RepairMethod, RepairProgress},
        source::{BlockSource, Fetcher, SourceError},
    },
    settings::Settings,
    store::{
        start::{open_chain, read_store_meta},
        store_files::open_store_in,
        store_writer::{StoreObservers, StoreWriter},
    },
};

/// Chooses the blocks to fetch. `sealed` are the blocks that the journal seals, the oldest first.
pub(crate) fn plan_rebuild(
    spec: &ChainSpec,
    genesis: alloy_primitives::B256,
    sealed: &[SealedPosition],
    backup: Option<BackupEnd>,
    source: &mut dyn BlockSource,
) -> Result<RepairMethod, SourceError> {
    let impossible = |why: String| Ok(RepairMethod::Impossible(why));
    let (Some(anchor), Some(newest)) = (sealed.first(), sealed.last()) else {
        return impossible("the journal seals no block: restore a backup into a new folder".to_owned());
    };
    let mut fetcher = Fetcher::new(source);
    let source_head = fetcher.head_of(spec.chain_id(), genesis)?;
    if source_head < anchor.number {
        return impossible(format!(
            "the node of --from ends with block {source_head}, but the journal continues after block {}",
            anchor.number
        ));
    }
    fetcher.compare(sealed, source_head)?;
    let base = backup.and_then(|backup| backup.head);
    if let Some(base) = base
        && (base.number >= anchor.number || fetcher.hash(base.number)? != base.hash)
    {
        return impossible(format!(
            "block {}, the last one of the backup, is no longer on the chain: omit --backup",
            base.number
        ));
    }
    Ok(RepairMethod::Fetch(FetchPlan {
        backup: base.map(|base| base.number),
        first: base.map_or(0, |base| base.number) + 1,
        last: anchor.number,
        journal_head: newest.number,
        source_head,
    }))
}

/// A rebuild in progress.
pub(crate) struct Rebuild<'r> {
    pub spec: &'r Arc<ChainSpec>,
    pub settings: &'r Settings,
    /// Folder of the new store; it may already hold the backup's store.
    pub folder: &'r Path,
    /// The damaged store, if it can be opened.
    pub damaged: Option<Store>,
    /// Last block to fetch.
    pub anchor: SealedPosition,
}

impl Rebuild<'_> {
    /// Executes the blocks of `plan` and stores them.
    ///
    /// # Errors
    /// Fails at the first block that is rejected, or that contradicts the data directory.
    pub fn run(
        &self,
        plan: &FetchPlan,
        source: &mut dyn BlockSource,
        watch: ProgressCallback<'_>,
    ) -> Result<(), StoreRepairError> {
        let store = open_store_in(self.folder, self.spec, &self.settings.store)?;
        let meta = read_store_meta(&store)?;
        let mut link =
            StoreWriter::start(store.clone(), &self.settings.store, &meta, StoreObservers::default())
                .map_err(NodeError::from)?;
        let mut chain = open_chain(&store, self.spec.clone().into(), self.settings, &link, &meta)?;
        let mut fetcher = Fetcher::new(source);
        let of = plan.last + 1 - plan.first;
        for number in plan.first..=plan.last {
            let (bytes, hash) = fetcher.block(number, self.damaged.as_ref())?;
            let own = self.anchor.hash;
            if number == self.anchor.number && hash != own {
                return Err(
                    SourceError::Contradiction { number, found: hash, own, record: "the journal" }.into()
                );
            }
            chain
                .import(&bytes)
                .map_err(|source| SourceError::Rejected { number, source: Box::new(source) })?;
            // The journal continues after the append that seals the last of these blocks.
            link.follow(&mut chain, self.anchor.sequence).map_err(NodeError::from)?;
            let done = number + 1 - plan.first;
            if watch(RepairProgress::Fetching { done, of }) == ControlFlow::Break(()) {
                return Err(StoreError::Interrupted.into());
            }
        }
        link.drain().map_err(NodeError::from)?;
        Ok(())
    }
}
