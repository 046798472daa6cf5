//! The saved inputs: `corpus/TARGET/`, one file each.

use std::{fs, io, path::PathBuf};

/// The folder of a target's inputs.
pub fn folder(target: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target)
}

/// All inputs of a target, in the order of their names.
///
/// # Errors
/// When the folder cannot be read.
pub fn inputs(target: &str) -> io::Result<Vec<Vec<u8>>> {
    let entries = fs::read_dir(folder(target))?.collect::<Result<Vec<_>, _>>()?;
    let mut paths: Vec<_> = entries.into_iter().map(|entry| entry.path()).collect();
    paths.sort();
    paths.into_iter().map(fs::read).collect()
}
