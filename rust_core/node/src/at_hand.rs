//! What a view has without work: for callers who may not wait.

use std::sync::Arc;

use foreseal_state::StateError;

use crate::{BlockId, Executed, ResolveError, View};

impl View {
    /// As [`Self::resolve`], of blocks that are in memory; `None` where one is not, or is asked for as it was at a step.
    pub fn at_hand(&self, id: BlockId) -> Result<Option<Arc<Executed>>, ResolveError> {
        if let Some(number) = self.number_of(id) {
            // Whoever follows the chain asks for its next block again and again.
            let ahead = number > self.latest().number();
            return if ahead { Err(ResolveError::NotFound) } else { Ok(self.sealed.at_hand(number)) };
        }
        match id {
            BlockId::Latest | BlockId::Pending => self.resolve(id).map(Some),
            BlockId::Hash { hash, .. } => {
                let number = self.step_position(&hash)?.ok_or(ResolveError::NotFound)?.number;
                Ok(self.sealed.at_hand(number).filter(|found| found.block.hash == hash))
            }
            _ => Ok(None),
        }
    }

    /// Whether [`Self::moment`] finds the state without executing anything again.
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
