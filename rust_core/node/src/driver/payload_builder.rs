//! Production under a driver: a consensus client that chooses the head, and opens and ends blocks.
//!
//! ```text
//!   add_block       -> executed on a branch, not on the chain
//!   choose_head     -> [unwind], [import | seal], safe and finalized: one append, one swap of views
//!   begin_payload   -> [withdraw the open block], open with the first transactions; ticks add steps from the pool
//!   finish_payload  -> the block at its newest step; nothing is added any more
//! ```

use alloy_eips::eip7685::Requests;
use alloy_primitives::{B64, B256, Bytes};
use foreseal_builder::{BuildError, ParentBlock, PendingBlock};
use foreseal_chain::{BranchHashes, ChainError, Finality};
use foreseal_evm::{BlockError, ExecutionError, ExecutionOutput};
use foreseal_primitives::{BlockBytes, SpecId};

use crate::{
    driver::driver_state::{
        BlockVerdict, BranchBlock, BuiltPayload, DriverState, ForkChoice, HeadChoice, MAX_BRANCH_BLOCKS,
        OpenPayload, PayloadRequest,
    },
    errors::production_error::{ControlError, ProductionError},
    produce::{block_producer::BlockProducer, chain_draft::ChainDraft},
    settings::mining::Mining,
};

/// Position of a block that a driver names.
enum BlockLocation {
    /// The newest sealed block.
    Latest,
    /// The block being built, at its newest step.
    Open,
    Sealed(u64),
    Branch,
    Unknown,
}

/// Chain that a choice of the head leads to.
struct ChosenChain {
    /// Newest sealed block that remains.
    common: u64,
    /// Blocks after it, oldest first, with their hashes.
    branch: Vec<(B256, BranchBlock)>,
    /// Hash of the block being built, if it is the block after `common`.
    open: Option<B256>,
}

impl ChosenChain {
    fn ending_at(common: u64) -> Self {
        Self { common, branch: Vec::new(), open: None }
    }

    /// Returns the number of the head.
    fn height(&self) -> u64 {
        self.common + self.branch.len() as u64 + u64::from(self.open.is_some())
    }
}

/// Access to the payloads of a driver: see [`Node::drive`](crate::Node::drive).
pub struct PayloadBuilder<'a> {
    pub(crate) producer: &'a mut BlockProducer,
    pub(crate) driver: &'a mut DriverState,
}

impl PayloadBuilder<'_> {
    /// Makes `choice.head` the newest sealed block, and sets the safe and the finalized block.
    ///
    /// The block being built is sealed if it is the head, and withdrawn if the head is another block than its parent.
    /// On an OP chain, the head may be an ancestor of the newest block.
    ///
    /// # Errors
    /// Returns [`ControlError::ForkChoice`], and changes nothing, if the safe or the finalized block is not on the
    /// chain of the head, or if the finalized block would go back.
    pub fn choose_head(&mut self, choice: &ForkChoice) -> Result<HeadChoice, ControlError> {
        self.driven()?;
        let chosen = match self.locate(&choice.head)? {
            BlockLocation::Latest => ChosenChain::ending_at(self.producer.writer.height()),
            BlockLocation::Open => ChosenChain {
                open: Some(choice.head),
                ..ChosenChain::ending_at(self.producer.writer.height())
            },
            BlockLocation::Sealed(_) if self.producer.writer.chain.spec().optimism().is_none() => {
                return Ok(HeadChoice::Ancestor);
            }
            BlockLocation::Sealed(number) => ChosenChain::ending_at(number),
            BlockLocation::Branch => {
                let (common, branch) = self.branch_of(choice.head)?;
                ChosenChain { common, branch, open: None }
            }
            BlockLocation::Unknown => {
                let invalid = self.driver.invalid(&choice.head);
                return Ok(
                    invalid.map_or(HeadChoice::Unknown, |latest_valid| HeadChoice::Invalid { latest_valid })
                );
            }
        };
        let finality = self.chosen_finality(&chosen, choice)?;
        self.extend_to(chosen, finality)?;
        self.heard_driver();
        Ok(HeadChoice::Chosen)
    }

    /// Makes the head of `chosen` the newest sealed block.
    fn extend_to(&mut self, chosen: ChosenChain, finality: Finality) -> Result<(), ControlError> {
        let leaves_open = chosen.open.is_none()
            && !chosen.branch.is_empty()
            && self.producer.writer.chain.open_block().is_some();
        let mut draft = if chosen.common < self.producer.writer.height() || leaves_open {
            self.unwind_to_choice(chosen.common)?
        } else {
            self.producer.draft()
        };
        if chosen.open.is_some() {
            draft.seal()?;
        }
        let mut included = Vec::with_capacity(chosen.branch.len());
        for (_, block) in chosen.branch {
            included.push(import_branch(&mut draft, block)?);
        }
        draft.set_finality(finality);
        let withdrawn = draft.chain.open_block().is_none();
        if !draft.records.is_empty() {
            self.producer.commit(draft, None)?;
        }
        if withdrawn {
            self.driver.payload = None;
            self.producer.writer.shared.payloads.close();
        }
        for executed in included {
            self.driver.remove_branch(&executed.block.hash);
            let transactions: Vec<_> = executed.block.transactions.iter().cloned().collect();
            self.producer.writer.shared.pool.on_step(&transactions, &executed.diff);
        }
        Ok(())
    }

    /// Opens the block after the newest sealed one, for a driver. Continues an open block with the same opening, and
    /// withdraws any other.
    ///
    /// # Errors
    /// Returns [`ControlError::Attributes`] if no block can have these attributes.
    pub fn begin_payload(&mut self, request: &PayloadRequest) -> Result<(), ControlError> {
        self.driven()?;
        let PayloadRequest { id, attributes, uses_pool } = request;
        self.heard_driver();
        if self.driver.payload.is_some_and(|payload| payload.id == *id) {
            return Ok(());
        }
        let (block, step) =
            self.producer.writer.chain.prepare_open(attributes).map_err(|error| match error {
                BuildError::Execution(error) => ControlError::Refused(error.to_string()),
                error => ControlError::Attributes(error.to_string()),
            })?;
        let open = self.producer.writer.chain.open_steps();
        let is_same = open.front().is_some_and(|first| {
            (first.step.hash, first.step.previous) == (step.hash, step.previous)
                && (*uses_pool || open.len() == 1)
        });
        if !is_same {
            self.end_open_payload()?;
            let mut draft = self.producer.draft();
            if self.producer.writer.chain.open_block().is_some() {
                draft.unwind(self.producer.writer.height())?;
            }
            let (transactions, diff) = (step.transactions.clone(), step.diff.clone());
            draft.start(block, step);
            self.producer.commit(draft, None)?;
            self.producer.writer.shared.pool.on_step(&transactions, &diff);
        }
        self.driver.payload = Some(OpenPayload { id: *id, uses_pool: *uses_pool, is_finished: false });
        self.producer.writer.shared.payloads.begin(*id, self.producer.writer.chain.open_steps());
        Ok(())
    }

    /// Returns the block of a payload at its newest step, and adds no further steps to it. `None` if no payload has
    /// this id, or if it is older than the last few.
    pub fn finish_payload(&mut self, id: B64) -> Result<Option<BuiltPayload>, ControlError> {
        self.driven()?;
        self.heard_driver();
        if let Some(built) = self.driver.finished(id) {
            return Ok(Some(built.clone()));
        }
        self.end_payload(id)
    }

    /// Keeps the block of a payload at its newest step for the driver, and adds no further steps to it.
    fn end_payload(&mut self, id: B64) -> Result<Option<BuiltPayload>, ControlError> {
        let Some(open) = self.open_payload(id) else { return Ok(None) };
        let requests = open
            .requests(self.producer.writer.chain.hashes())
            .map_err(|error| ControlError::Refused(error.to_string()))?;
        let requests = requests.map(Requests::take).unwrap_or_default();
        let built = BuiltPayload { block: open.block(), requests };
        self.driver.finish(id, built.clone());
        Ok(Some(built))
    }

    /// Returns the fork of a payload's block; `None` as for [`Self::finish_payload`].
    pub fn payload_fork(&self, id: B64) -> Result<Option<SpecId>, ControlError> {
        self.driven()?;
        let finished =
            self.driver.finished(id).map(|built| self.producer.writer.chain.spec().fork(&built.block.header));
        Ok(finished.or_else(|| self.open_payload(id).map(PendingBlock::fork)))
    }

    fn open_payload(&self, id: B64) -> Option<&PendingBlock> {
        self.producer
            .writer
            .chain
            .open_block()
            .filter(|_| self.driver.payload.is_some_and(|payload| payload.id == id))
    }

    /// Executes a block without adding it to the chain, unless it is known.
    pub fn add_block(&mut self, block: BlockBytes) -> Result<BlockVerdict, ControlError> {
        self.driven()?;
        self.heard_driver();
        let (hash, parent) = (block.header.hash_slow(), block.header.parent_hash);
        if !matches!(self.locate(&hash)?, BlockLocation::Unknown) {
            return Ok(BlockVerdict::Valid);
        }
        if let Some(latest_valid) = self.driver.invalid(&hash).or_else(|| self.driver.invalid(&parent)) {
            self.driver.add_invalid(hash, latest_valid);
            return Ok(BlockVerdict::Invalid {
                latest_valid,
                reason: "it follows an invalid block".to_owned(),
            });
        }
        let (number, bytes) = (block.header.number, Bytes::from(alloy_rlp::encode(&block)));
        let executed = match self.execute_after_parent(block)? {
            Some(Ok(executed)) => executed,
            Some(Err(error)) => {
                self.driver.add_invalid(hash, parent);
                return Ok(BlockVerdict::Invalid { latest_valid: parent, reason: error.to_string() });
            }
            None => return Ok(BlockVerdict::UnknownParent),
        };
        self.driver.add_branch(hash, BranchBlock { number, parent, bytes, executed: Some(executed) });
        Ok(BlockVerdict::Valid)
    }

    /// Returns `true` if the driver has named a safe block, now or before a restart.
    pub fn knows_safe_block(&self) -> bool {
        !self.producer.writer.chain.finality().trails
    }

    /// Adds a step from the pool to the payload being built, if there is one.
    pub(crate) fn tick(&mut self, keep_going: &mut dyn FnMut() -> bool) -> Result<(), ProductionError> {
        let is_building = self.driver.is_building() && self.producer.writer.chain.open_block().is_some();
        if is_building {
            self.producer.collect_slow();
            if self.producer.step(keep_going)? {
                self.producer.writer.shared.payloads.extend(self.producer.writer.chain.open_steps());
            }
            self.producer.execute_slow();
        }
        Ok(())
    }

    /// Renews the freshness: the pending block is what the driver last asked for.
    fn heard_driver(&self) {
        self.producer.writer.shared.publication.tick(self.producer.writer.shared.clock.monotonic());
    }

    fn driven(&self) -> Result<(), ControlError> {
        if self.producer.mining == Mining::Driver { Ok(()) } else { Err(ControlError::NoDriver) }
    }

    fn locate(&self, hash: &B256) -> Result<BlockLocation, ControlError> {
        if self.producer.writer.chain.latest().block.hash == *hash {
            return Ok(BlockLocation::Latest);
        }
        if self.producer.writer.chain.open_block().is_some_and(|open| open.hash() == *hash) {
            return Ok(BlockLocation::Open);
        }
        if let Some(number) = self.producer.writer.chain.sealed_number(hash)? {
            return Ok(BlockLocation::Sealed(number));
        }
        Ok(if self.driver.branch(hash).is_some() { BlockLocation::Branch } else { BlockLocation::Unknown })
    }

    /// Ends the payload being built before it is withdrawn: a driver may still ask for it.
    fn end_open_payload(&mut self) -> Result<(), ControlError> {
        match self.driver.payload.filter(|payload| !payload.is_finished) {
            Some(payload) => self.end_payload(payload.id).map(drop),
            None => Ok(()),
        }
    }

    /// Returns a draft that unwinds to sealed block `number` and withdraws the block being built. The newest of the
    /// blocks after it remain known.
    fn unwind_to_choice(&mut self, number: u64) -> Result<ChainDraft, ControlError> {
        self.end_open_payload()?;
        // Older ones would be evicted at once.
        let oldest = self.producer.writer.height().saturating_sub(MAX_BRANCH_BLOCKS).max(number) + 1;
        for after in oldest..=self.producer.writer.height() {
            let Some(left) = self.producer.writer.chain.block(after)? else { continue };
            let mut bytes = Vec::with_capacity(left.block.size());
            left.block.encode(&mut bytes);
            let parent = left.block.header.parent_hash;
            let block = BranchBlock { number: after, parent, bytes: bytes.into(), executed: None };
            self.driver.add_branch(left.block.hash, block);
        }
        self.producer.back_to(number)
    }

    /// Returns the safe and the finalized block of a choice.
    ///
    /// # Errors
    /// Returns an error if one of them is not on the chosen chain, or if the finalized block would go back.
    fn chosen_finality(&self, chosen: &ChosenChain, choice: &ForkChoice) -> Result<Finality, ControlError> {
        let before = self.producer.writer.chain.finality();
        if chosen.common < before.finalized {
            let (number, finalized) = (chosen.common, before.finalized);
            return Err(ControlError::Finalized { number, finalized });
        }
        let number = |name: &str, hash: Option<B256>| match hash {
            None => Ok(None),
            Some(hash) => self
                .number_on(chosen, &hash)?
                .ok_or_else(|| {
                    ControlError::ForkChoice(format!("the {name} block is not on the chain of the head"))
                })
                .map(Some),
        };
        let (safe, finalized) = (number("safe", choice.safe)?, number("finalized", choice.finalized)?);
        let mut next = Finality { trails: before.trails && safe.is_none(), ..before };
        next.unwound(chosen.height());
        next.safe = safe.unwrap_or(next.safe);
        next.finalized = finalized.unwrap_or(next.finalized);
        // A driver that names only a newer finalized block means that it is safe as well.
        next.safe = next.safe.max(next.finalized);
        if next.finalized < before.finalized {
            let (from, to) = (before.finalized, next.finalized);
            return Err(ControlError::ForkChoice(format!(
                "the finalized block would go back from {from} to {to}"
            )));
        }
        Ok(next)
    }

    /// Returns the number of a block on the chosen chain; `None` if it is not there.
    fn number_on(&self, chosen: &ChosenChain, hash: &B256) -> Result<Option<u64>, ControlError> {
        if chosen.open.as_ref() == Some(hash) {
            return Ok(Some(chosen.height()));
        }
        if let Some((_, block)) = chosen.branch.iter().find(|(of, _)| of == hash) {
            return Ok(Some(block.number));
        }
        Ok(self.producer.writer.chain.sealed_number(hash)?.filter(|number| *number <= chosen.common))
    }

    /// Returns the number of the sealed block on which a branch begins, and the blocks of the branch up to `head` with
    /// their hashes.
    fn branch_of(&self, head: B256) -> Result<(u64, Vec<(B256, BranchBlock)>), ControlError> {
        let (mut hash, mut path) = (head, Vec::new());
        while let Some(block) = self.driver.branch(&hash) {
            path.push((hash, block.clone()));
            hash = block.parent;
        }
        path.reverse();
        let common = self.producer.writer.chain.sealed_number(&hash)?;
        let common =
            common.ok_or_else(|| ControlError::ForkChoice("its ancestors are not available".to_owned()))?;
        Ok((common, path))
    }

    /// Executes a block after its parent, wherever that is; `None` if the parent is not known.
    fn execute_after_parent(
        &mut self,
        block: BlockBytes,
    ) -> Result<Option<Result<ExecutionOutput, BlockError>>, ControlError> {
        let parent = block.header.parent_hash;
        let executed = if self.driver.branch(&parent).is_some() {
            self.execute_on_branch(parent, block)?
        } else {
            let Some(number) = self.producer.writer.chain.sealed_number(&parent)? else { return Ok(None) };
            let Some(parent_block) = self.producer.writer.chain.block(number)? else { return Ok(None) };
            let after =
                ParentBlock { header: &parent_block.block.header, hash: parent, state: &parent_block.state };
            self.producer.writer.chain.execute_after(after, self.producer.writer.chain.hashes(), block)
        };
        match executed {
            // Reads of the state failed: that says nothing about the block.
            Err(
                BlockError::Execution(ExecutionError::State(error))
                | BlockError::Transaction { error: ExecutionError::State(error), .. },
            ) => Err(error.into()),
            executed => Ok(Some(executed)),
        }
    }

    /// Executes a block after a block of a branch. Ancestors whose results are not in memory are executed again: from
    /// the newest one with a result on, or from the sealed block on which the branch begins.
    fn execute_on_branch(
        &mut self,
        parent: B256,
        block: BlockBytes,
    ) -> Result<Result<ExecutionOutput, BlockError>, ControlError> {
        let (common, path) = self.branch_of(parent)?;
        let known = path.iter().rposition(|(_, branch_block)| branch_block.executed.is_some());
        let mut newest = known.and_then(|at| path[at].1.executed.clone());
        let numbered = |(hash, branch_block): &(B256, BranchBlock)| (branch_block.number, *hash);
        let first = known.map_or(0, |at| at + 1);
        let mut branch: Vec<_> = path[..first].iter().map(numbered).collect();
        for (hash, branch_block) in &path[first..] {
            let again: BlockBytes =
                alloy_rlp::decode_exact(&branch_block.bytes).map_err(ChainError::NotABlock)?;
            let hashes = BranchHashes { chain: &self.producer.writer.chain, branch: branch.clone() };
            let executed = self
                .execute_after_known(newest.as_ref(), common, &hashes, again)
                .map_err(|source| ChainError::Block { number: branch_block.number, source })?;
            let with_result = BranchBlock { executed: Some(executed.clone()), ..branch_block.clone() };
            self.driver.add_branch(*hash, with_result);
            newest = Some(executed);
            branch.push((branch_block.number, *hash));
        }
        let hashes = BranchHashes { chain: &self.producer.writer.chain, branch };
        Ok(self.execute_after_known(newest.as_ref(), common, &hashes, block))
    }

    /// Executes a block after the result of its parent, or after sealed block `common` if it has none.
    fn execute_after_known(
        &self,
        parent: Option<&ExecutionOutput>,
        common: u64,
        hashes: &BranchHashes<'_>,
        block: BlockBytes,
    ) -> Result<ExecutionOutput, BlockError> {
        if let Some(executed) = parent {
            let hash = executed.block.hash;
            let after = ParentBlock { header: &executed.block.header, hash, state: &executed.state };
            return self.producer.writer.chain.execute_after(after, hashes, block);
        }
        let common_block = self.producer.writer.chain.block(common).map_err(ExecutionError::from)?;
        let common_block =
            common_block.ok_or_else(|| ExecutionError::Environment("the parent is gone".into()))?;
        let hash = common_block.block.hash;
        let after = ParentBlock { header: &common_block.block.header, hash, state: &common_block.state };
        self.producer.writer.chain.execute_after(after, hashes, block)
    }
}

/// Adds a block of a branch to `draft`.
fn import_branch(draft: &mut ChainDraft, block: BranchBlock) -> Result<ExecutionOutput, ControlError> {
    let executed = match block.executed {
        Some(executed) => executed,
        None => draft.execute_next(&block.bytes)?,
    };
    draft.import_executed(executed.clone(), block.bytes)?;
    Ok(executed)
}
