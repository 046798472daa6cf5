//! Reading every page of the store, some at a time.

use std::ops::ControlFlow;

use super::{Found, PageFault, Walk};
use crate::{Store, StoreError};

/// Position of a pass of the scrub.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScrubPosition {
    /// Trees that are done.
    trees: usize,
    /// Position of the next portion.
    from: Vec<u8>,
}

/// Result of a portion of a pass.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scrubbed {
    /// Bytes of the pages that were read.
    pub bytes: u64,
    /// Pages among them that were written before pages had checksums.
    pub unchecked: u64,
    pub faults: Vec<PageFault>,
    /// The pass has come to its end; the next portion begins another one.
    pub complete: bool,
}

impl Store {
    /// Reads pages from `position` on until `bytes` have been read, in one read transaction, and moves `position`. Damage is
    /// noted as that which a read finds: see [`Self::damage`].
    ///
    /// # Errors
    /// When the file cannot be read, or no snapshot can be begun.
    pub fn scrub(&self, position: &mut ScrubPosition, bytes: u64) -> Result<Scrubbed, StoreError> {
        let scrubbed = self.scrub_pages(position, bytes).inspect_err(|error| self.note_damage(error))?;
        for fault in &scrubbed.faults {
            self.note_damage(&fault.error());
        }
        Ok(scrubbed)
    }

    fn scrub_pages(&self, position: &mut ScrubPosition, bytes: u64) -> Result<Scrubbed, StoreError> {
        let walk = Walk::begin(self.env())?;
        let trees = walk.trees()?;
        let mut scrubbed = Scrubbed::default();
        while let Some(tree) = trees.get(position.trees) {
            let mut after = None;
            // The keys of the first tree are no bytes in order: it is read at once.
            let whole = position.trees == 0;
            let ended = walk.tree(*tree, &position.from, &mut |found| match found {
                Found::Entry { .. } => ControlFlow::Continue(()),
                Found::Fault(fault) => {
                    scrubbed.faults.push(fault);
                    ControlFlow::Continue(())
                }
                Found::Page { last, bytes: read, has_checksum } => {
                    scrubbed.bytes += read;
                    scrubbed.unchecked += u64::from(!has_checksum);
                    match last {
                        Some(last) if scrubbed.bytes >= bytes && !whole => {
                            after = Some([last, &[0]].concat());
                            ControlFlow::Break(())
                        }
                        _ => ControlFlow::Continue(()),
                    }
                }
            })?;
            match (ended, after) {
                (ControlFlow::Break(()), Some(after)) => {
                    position.from = after;
                    return Ok(scrubbed);
                }
                _ => *position = ScrubPosition { trees: position.trees + 1, from: Vec::new() },
            }
        }
        *position = ScrubPosition::default();
        scrubbed.complete = true;
        Ok(scrubbed)
    }
}
