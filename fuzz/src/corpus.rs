//! Saved inputs of the targets, one file each in `corpus/TARGET/`.

use std::{fs, io, path::PathBuf};

/// Returns the folder of a target's inputs.
pub fn folder(target: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target)
}

/// Returns all inputs of a target, sorted by file name.
///
/// # Errors
/// Returns an error if the folder or one of its files cannot be read.
pub fn inputs(target: &str) -> io::Result<Vec<Vec<u8>>> {
    let entries = fs::read_dir(folder(target))?.collect::<Result<Vec<_>, _>>()?;
    let mut paths: Vec<_> = entries.into_iter().map(|entry| entry.path()).collect();
    paths.sort();
    paths.into_iter().map(fs::read).collect()
}
