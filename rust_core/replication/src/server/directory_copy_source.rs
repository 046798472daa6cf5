//! The source of copies of the data directory.

use std::io::Write;

/// Data directory of which a server sends copies to new machines.
pub trait DirectoryCopySource: Send + Sync {
    /// Writes a copy to `out`, and returns once it is complete. The receiver must be able to detect an incomplete one.
    /// Never delays the writer of the chain.
    ///
    /// # Errors
    /// Returns the reason, for the log.
    fn send(&self, out: &mut dyn Write) -> Result<(), String>;
}
