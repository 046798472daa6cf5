//! Damage to the files of a data directory.

use std::{fs, path::Path};

/// Path of the journal's first segment below a data directory.
pub const SEGMENT: &str = "journal/0000000001.segment";

/// Zeroes the last 40 % of the used part of the journal.
pub fn zero_journal_tail(datadir: &Path) {
    let path = datadir.join(SEGMENT);
    let mut bytes = fs::read(&path).unwrap();
    let used = bytes.iter().rposition(|byte| *byte != 0).unwrap() + 1;
    bytes[used * 6 / 10..used].fill(0);
    fs::write(path, bytes).unwrap();
}
