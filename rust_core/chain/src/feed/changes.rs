//! The changes of a view after a cursor.

use std::{ops::ControlFlow, sync::Arc};

use alloy_primitives::B256;
use foreseal_state::{BlockHashes, StateError};

use crate::{
    block_at_step::{BlockAtStep, Change, Steps},
    executed_block::ExecutedBlock,
    reorged_blocks::ReorgedBlock,
    step_cursor::StepCursor,
    view::View,
};

/// Error of reading the changes after a cursor.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FeedError {
    /// The store could not be read. After [`StateError::ViewGone`], a newer view has the same changes and
    /// more.
    #[error(transparent)]
    Read(#[from] StateError),
    /// The cursor was never on the chain, or is no longer retained.
    #[error("the cursor is no longer available; the oldest available one is in block {}", oldest.number)]
    CursorGone { oldest: StepCursor },
}

type Sink<'a> = &'a mut dyn FnMut(Change, StepCursor) -> ControlFlow<()>;

/// Passes to `sink` the changes from the step at `after` to the newest step of `view`. First come the steps
/// that are no longer on the chain, newest first, then the steps after the common one in order. Each change
/// has the cursor that it leads to, from which a later call continues. Returns the cursor reached.
///
/// `sink` may break. It still receives the change that belongs to the same step: the step after a
/// [`Change::Sealed`], and the [`Change::Unsealed`] after the removal of a block's first step.
///
/// # Errors
/// Returns [`FeedError::CursorGone`] before the first change, or [`FeedError::Read`] at any time.
pub fn changes(view: &View, after: StepCursor, sink: Sink<'_>) -> Result<StepCursor, FeedError> {
    let mut walk = ChangeWalker { view, sink, stopped: false };
    if holds(view, after)? {
        return Ok(walk.forward(TurningPoint { cursor: after, sealed: false })?.cursor);
    }
    let branch = Branch::find(view, after)?;
    let turn = walk.back(&branch)?;
    if walk.stopped { Ok(turn.cursor) } else { Ok(walk.forward(turn)?.cursor) }
}

/// Returns the step at `cursor`, which must be on the chain.
///
/// # Errors
/// Returns [`FeedError::CursorGone`] if it is not, or [`FeedError::Read`].
pub fn step_at(view: &View, cursor: StepCursor) -> Result<BlockAtStep, FeedError> {
    let block = block(view, cursor.number)?;
    let steps = block.as_ref().map(|block| Steps::from_block(block)).filter(|steps| steps.holds(cursor));
    match (steps, usize::try_from(cursor.index)) {
        (Some(steps), Ok(index)) => Ok(steps.at(index)),
        _ => Err(cursor_gone(view)?),
    }
}

/// Position of a reader that is notified of each seal at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FeedPosition {
    pub cursor: StepCursor,
    /// `true` if the reader has been notified that the block of `cursor` is sealed, although no step follows yet.
    pub sealed: bool,
}

impl FeedPosition {
    /// Returns the position of a reader that knows everything that `view` shows.
    pub fn end_of(view: &View) -> Self {
        Self { cursor: view.cursor(), sealed: view.pending.steps.is_empty() }
    }
}

/// Passes the changes from `after` to the end of `view` to `sink`, like [`changes`]. If no block is being built, the
/// newest block is sealed without a step that follows, and [`Change::Sealed`] comes last.
///
/// # Errors
/// Returns the errors of [`changes`].
pub fn changes_and_seals(
    view: &View,
    after: FeedPosition,
    sink: &mut dyn FnMut(Change, StepCursor),
) -> Result<FeedPosition, FeedError> {
    let mut emit = |change, cursor| {
        sink(change, cursor);
        ControlFlow::Continue(())
    };
    let mut walk = ChangeWalker { view, sink: &mut emit, stopped: false };
    let FeedPosition { cursor, mut sealed } = after;
    let turn = if holds(view, cursor)? {
        if sealed && cursor.number > view.latest().number() {
            walk.emit(Change::Unsealed(expect_block(view, cursor.number)?.block.clone()), cursor);
            sealed = false;
        }
        TurningPoint { cursor, sealed }
    } else {
        let branch = Branch::find(view, cursor)?;
        if let Some((block, _)) = branch.reorged.first().filter(|_| sealed) {
            walk.emit(Change::Unsealed(block.block().clone()), cursor);
        }
        walk.back(&branch)?
    };
    let end = walk.forward(turn)?;
    let is_idle = view.pending.steps.is_empty();
    if is_idle && !end.sealed {
        walk.emit(Change::Sealed(view.latest().block.clone()), end.cursor);
    }
    Ok(FeedPosition { cursor: end.cursor, sealed: is_idle })
}

/// Returns the block with this number and its steps; `None` for an idle pending block, which has no steps.
fn block(view: &View, number: u64) -> Result<Option<Arc<ExecutedBlock>>, StateError> {
    let pending = &view.pending;
    if number == pending.number() {
        return Ok(Some(pending.clone()).filter(|pending| !pending.steps.is_empty()));
    }
    view.sealed.with_steps(number)
}

fn expect_block(view: &View, number: u64) -> Result<Arc<ExecutedBlock>, StateError> {
    block(view, number)?.ok_or_else(|| StateError::Store(format!("block {number} is missing")))
}

/// Returns `true` if the step at `cursor` is on the chain.
fn holds(view: &View, cursor: StepCursor) -> Result<bool, StateError> {
    Ok(block(view, cursor.number)?.is_some_and(|block| Steps::from_block(&block).holds(cursor)))
}

/// Reorged blocks, and the point where they branch off the chain.
struct Branch {
    /// Reorged blocks, newest first, each with the number of its steps that the reader has seen.
    reorged: Vec<(Arc<ReorgedBlock>, usize)>,
    /// Number of steps of the oldest block that are on the chain.
    kept: usize,
    /// Newest common step of the branch and the chain.
    common: StepCursor,
}

impl Branch {
    fn find(view: &View, after: StepCursor) -> Result<Self, FeedError> {
        let Some((mut newest, index)) = view.reorged.find_step(after) else { return Err(cursor_gone(view)?) };
        let mut reorged = vec![(newest.clone(), index + 1)];
        loop {
            let (number, parent) = (newest.number(), newest.parent());
            let before = number.checked_sub(1);
            if before.map(|before| view.block_hash(before)).transpose()?.flatten() == Some(parent) {
                break;
            }
            let parent_block = before.and_then(|before| view.reorged.find_block(before, &parent));
            let Some(block) = parent_block else { return Err(cursor_gone(view)?) };
            reorged.push((block.clone(), block.steps().count()));
            newest = block;
        }
        let (number, steps) = (newest.number(), newest.steps());
        let kept = block(view, number)?.map_or(0, |here| steps.common(Steps::from_block(&here)));
        let kept = kept.min(reorged.last().map_or(0, |(_, seen)| *seen));
        let common = match kept.checked_sub(1) {
            Some(last) => steps.cursor(last),
            None => Steps::from_block(&*expect_block(view, number.saturating_sub(1))?).last(),
        };
        Ok(Self { reorged, kept, common })
    }
}

/// Returns the error of a cursor that is not available.
///
/// # Errors
/// Returns the error of reading the store.
pub fn cursor_gone(view: &View) -> Result<FeedError, StateError> {
    let hash: B256 = view.block_hash(0)?.unwrap_or_default();
    Ok(FeedError::CursorGone { oldest: StepCursor { number: 0, index: 0, hash } })
}

/// Point at which the walk changes from removals to additions.
#[derive(Clone, Copy)]
struct TurningPoint {
    cursor: StepCursor,
    /// `true` if the reader has been notified that the block of `cursor` is sealed, and it still is.
    sealed: bool,
}

struct ChangeWalker<'a> {
    view: &'a View,
    sink: Sink<'a>,
    stopped: bool,
}

impl ChangeWalker<'_> {
    fn emit(&mut self, change: Change, cursor: StepCursor) {
        self.stopped |= (self.sink)(change, cursor).is_break();
    }

    fn back(&mut self, branch: &Branch) -> Result<TurningPoint, FeedError> {
        let mut turn = TurningPoint { cursor: branch.common, sealed: false };
        for (at, (block, seen)) in branch.reorged.iter().enumerate() {
            let (steps, next) = (block.steps(), branch.reorged.get(at + 1));
            let kept = if next.is_none() { branch.kept } else { 0 };
            for index in (kept..*seen).rev() {
                turn.cursor = match (index.checked_sub(1), next) {
                    (Some(before), _) => steps.cursor(before),
                    (None, Some((parent, _))) => parent.steps().last(),
                    (None, None) => branch.common,
                };
                self.emit(Change::Removed(steps.at(index)), turn.cursor);
                match (index, next) {
                    (0, Some((parent, _))) => {
                        self.emit(Change::Unsealed(parent.block().clone()), turn.cursor);
                    }
                    (0, None) => turn.sealed = self.leave_sealed(turn.cursor)?,
                    _ => {}
                }
                if self.stopped {
                    return Ok(turn);
                }
            }
        }
        Ok(turn)
    }

    /// Handles the last step of a block that stays sealed. If the sink breaks here, emits `Unsealed`, because
    /// a later call from this cursor emits `Sealed` again.
    fn leave_sealed(&mut self, cursor: StepCursor) -> Result<bool, FeedError> {
        if self.stopped && cursor != self.view.cursor() {
            let parent = expect_block(self.view, cursor.number)?;
            self.emit(Change::Unsealed(parent.block.clone()), cursor);
        }
        Ok(!self.stopped)
    }

    fn forward(&mut self, from: TurningPoint) -> Result<TurningPoint, FeedError> {
        let (mut cursor, mut notified, end) = (from.cursor, from.sealed, self.view.cursor());
        if cursor == end {
            return Ok(from);
        }
        let mut here = expect_block(self.view, cursor.number)?;
        while cursor != end {
            let next = usize::try_from(cursor.index).unwrap_or(usize::MAX).saturating_add(1);
            let index = if next < Steps::from_block(&here).count() {
                next
            } else {
                if !notified {
                    self.emit(Change::Sealed(here.block.clone()), cursor);
                }
                here = expect_block(self.view, cursor.number + 1)?;
                0
            };
            notified = false;
            let steps = Steps::from_block(&here);
            cursor = steps.cursor(index);
            self.emit(Change::Step(steps.at(index)), cursor);
            if self.stopped {
                break;
            }
        }
        Ok(TurningPoint { cursor, sealed: notified })
    }
}
