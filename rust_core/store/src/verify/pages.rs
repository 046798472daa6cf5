//! Verification of the checksum of every page.

use std::ops::ControlFlow;

use super::report::{Fault, LISTED, StorePart, VerifyProgress, VerifyReport};
use crate::{
    error::StoreError,
    pages::{PageFault, ScrubPosition},
    store::Store,
};

/// Number of bytes that are read in one transaction.
const PORTION: u64 = 8 << 20;

/// Returns the faults of the pages of a store.
pub(super) fn verify(
    store: &Store,
    report: &mut dyn FnMut(VerifyProgress) -> ControlFlow<()>,
) -> Result<VerifyReport, StoreError> {
    let (mut verified, mut position, mut done) = (VerifyReport::default(), ScrubPosition::default(), 0);
    let (of, mut unchecked) = (store.size().used, 0);
    loop {
        let scrubbed = store.scrub(&mut position, PORTION)?;
        done += scrubbed.bytes;
        verified.fault_count += scrubbed.faults.len() as u64;
        let room = LISTED - verified.faults.len();
        verified.faults.extend(scrubbed.faults.into_iter().take(room).map(Fault::from));
        if report(VerifyProgress { part: StorePart::Pages, done, of: of.max(done) }).is_break() {
            return Err(StoreError::Interrupted);
        }
        unchecked += scrubbed.unchecked;
        if scrubbed.complete {
            break;
        }
    }
    if unchecked > 0 {
        // Every page is written with a checksum.
        let why = format!("{unchecked} pages have no checksum, so nothing proves what they hold");
        verified.fault_count += 1;
        verified.faults.push(Fault { table: "", key: Vec::new(), why });
    }
    Ok(verified)
}

impl From<PageFault> for Fault {
    fn from(fault: PageFault) -> Self {
        let PageFault { table, key, page, offset } = fault;
        let why = format!("page {page} of data.mdb, at offset {offset}, fails its checksum");
        Self { table, key, why }
    }
}
