//! Control of a development chain.

use crate::{
    clock::slot::BlockSlot, development::dev_snapshots::DevSnapshots, errors::production_error::ControlError,
    produce::block_producer::BlockProducer,
};

/// Access to a development chain: its clock, mining, state and snapshots. See
/// [`Node::develop`](crate::Node::develop).
pub struct DevelopmentControl<'a> {
    pub(crate) producer: &'a mut BlockProducer,
    pub(crate) snapshots: &'a mut DevSnapshots,
}

impl DevelopmentControl<'_> {
    /// Rejects requests on another chain.
    pub(crate) fn developing(&self) -> Result<(), ControlError> {
        if self.producer.settings.development.is_some() { Ok(()) } else { Err(ControlError::NotDevelopment) }
    }

    /// Returns the slot of the block being built.
    ///
    /// # Errors
    /// Returns [`ControlError::NotProducing`] on a node that builds no blocks.
    pub(crate) fn producing(&self) -> Result<BlockSlot, ControlError> {
        self.producer.slot.ok_or(ControlError::NotProducing)
    }
}
