//! Reads of a view that are served from memory, for callers that must not block.

use std::sync::Arc;

use foreseal_state::StateError;

use crate::{
    executed_block::ExecutedBlock,
    view::{BlockId, ResolveError, View},
};

impl View {
    /// Resolves like [`Self::resolve`], from memory alone. Returns `None` if the block is not in memory, or
    /// if `id` names it at a step.
    pub fn cached_block(&self, id: BlockId) -> Result<Option<Arc<ExecutedBlock>>, ResolveError> {
        let id = self.meaning(id);
        if let Some(number) = self.number_of(id) {
            // Clients that follow the chain poll for its next block, so this case is answered without the
            // history.
            let ahead = number > self.latest().number();
            return if ahead { Err(ResolveError::NotFound) } else { Ok(self.sealed.cached_block(number)) };
        }
        match id {
            BlockId::Latest | BlockId::Pending => self.resolve(id).map(Some),
            BlockId::Hash { hash, .. } => {
                let number = self.step_position(&hash)?.ok_or(ResolveError::NotFound)?.number;
                Ok(self.sealed.cached_block(number).filter(|block| block.block.hash == hash))
            }
            _ => Ok(None),
        }
    }

    /// Returns `true` if [`Self::header_and_state`] finds the state without executing anything again.
    pub fn has_state(&self, id: BlockId) -> Result<bool, StateError> {
        let hash = match id {
            BlockId::Step { .. } => return Ok(false),
            BlockId::Hash { hash, .. } => hash,
            _ => return Ok(true),
        };
        let Some(position) = self.step_position(&hash)? else { return Ok(true) };
        Ok(self.sealed.hash(position.number)? == Some(hash))
    }
}
