//! Names of files in a data directory and in a backup of it.

pub(crate) use foreseal_chain::datadir::{GENESIS, IDENTITY, JOURNAL, KEY, STORE};

pub(crate) const MANIFEST: &str = "MANIFEST.json";
pub(crate) const STORE_FILE: &str = "store/data.mdb";
pub(crate) const STORE_LOCK: &str = "store/lock.mdb";

/// Returns `true` if a backup may contain a file with this path. Accepts fixed paths and names of journal
/// segments only, so that no path leads out of the folder.
pub(crate) fn is_copied(path: &str) -> bool {
    [STORE_FILE, GENESIS, IDENTITY, KEY].contains(&path) || is_segment(path)
}

/// Returns `true` if the path is that of a journal segment.
pub(crate) fn is_segment(path: &str) -> bool {
    let number = path.strip_prefix("journal/").and_then(|name| name.strip_suffix(".segment"));
    number.is_some_and(|number| number.len() >= 10 && number.bytes().all(|byte| byte.is_ascii_digit()))
}
