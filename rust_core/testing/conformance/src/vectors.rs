//! Location of the vectors.

use std::path::{Path, PathBuf};

/// Returns the path of a folder or archive among the shared vectors.
///
/// The shared directory is `FORESEAL_SHARED` if set, otherwise `shared` next to the workspace. If the path
/// does not exist, prints a line and returns `None`.
pub fn find(name: &str) -> Option<PathBuf> {
    let shared = std::env::var_os("FORESEAL_SHARED")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../../shared"), PathBuf::from);
    let path = shared.join("vectors").join(name);
    if path.exists() {
        return Some(path);
    }
    println!("skipped: no vectors at {} (set FORESEAL_SHARED)", path.display());
    None
}
