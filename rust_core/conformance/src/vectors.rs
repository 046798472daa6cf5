//! Where the vectors are.

use std::path::{Path, PathBuf};

/// A folder or archive among the shared vectors: under the directory that `FORESEAL_SHARED` names, else beside the
/// workspace. `None`, with a line that says so, when it is not there.
pub fn find(name: &str) -> Option<PathBuf> {
    let shared = std::env::var_os("FORESEAL_SHARED")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared"), PathBuf::from);
    let path = shared.join("vectors").join(name);
    if path.exists() {
        return Some(path);
    }
    println!("skipped: no vectors at {} (set FORESEAL_SHARED)", path.display());
    None
}
