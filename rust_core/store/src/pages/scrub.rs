//! Reading every page of the store in portions.

use std::ops::ControlFlow;

use super::walk::{PageItem, PageWalker};
use crate::pages::PageFault;
use crate::{error::StoreError, store::Store};

/// Position of a scrub pass.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScrubPosition {
    /// Number of completed trees.
    trees: usize,
    /// Key at which the next portion begins.
    from: Vec<u8>,
}

/// Result of one portion of a pass.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scrubbed {
    /// Total size in bytes of the pages that were read.
    pub bytes: u64,
    /// Number of these pages that were written without a checksum.
    pub unchecked: u64,
    pub faults: Vec<PageFault>,
    /// `true` if the pass is complete; the next portion begins another pass.
    pub complete: bool,
}

impl Store {
    /// Reads pages from `position` on until `bytes` have been read, in one read transaction, and advances
    /// `position`. Damage is recorded like damage that a read finds: see [`Self::damage`].
    ///
    /// # Errors
    /// Returns an error if the file cannot be read, or if no read transaction can be opened.
    pub fn scrub(&self, position: &mut ScrubPosition, bytes: u64) -> Result<Scrubbed, StoreError> {
        let scrubbed = self.scrub_pages(position, bytes).inspect_err(|error| self.record_damage(error))?;
        for fault in &scrubbed.faults {
            self.record_damage(&fault.error());
        }
        Ok(scrubbed)
    }

    fn scrub_pages(&self, position: &mut ScrubPosition, bytes: u64) -> Result<Scrubbed, StoreError> {
        let walk = PageWalker::begin(self.env())?;
        let trees = walk.trees()?;
        let mut scrubbed = Scrubbed::default();
        while let Some(tree) = trees.get(position.trees) {
            let mut after = None;
            // The keys of the first tree are not sorted bytewise, so it is read in one portion.
            let whole = position.trees == 0;
            let ended = walk.tree(*tree, &position.from, &mut |item| match item {
                PageItem::Entry { .. } => ControlFlow::Continue(()),
                PageItem::Fault(fault) => {
                    scrubbed.faults.push(fault);
                    ControlFlow::Continue(())
                }
                PageItem::Page { last, bytes: read, has_checksum } => {
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
