//! Outcome of one case.

use alloy_primitives::B256;
use serde::Serialize;

/// Result of one case: one JSON line of the report.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Case {
    /// Path of the file, as given on the command line or as stored in the archive.
    pub file: String,
    pub name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fork: Option<String>,
    /// Index of the data, for a state test; `gas` and `value` likewise index the gas limits and values.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gas: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<usize>,
    /// Computed state root, not the expected one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state_root: Option<B256>,
    /// Hash of the RLP of the logs that execution produced.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub logs_hash: Option<B256>,
    pub pass: bool,
    /// Description of the difference, if the case failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

impl Case {
    /// Creates a case that has not run yet.
    pub fn new(file: &str, name: &str) -> Self {
        Self { file: file.to_owned(), name: name.to_owned(), ..Self::default() }
    }

    /// Returns the case with its outcome.
    #[must_use]
    pub fn outcome(mut self, outcome: Result<(), String>) -> Self {
        self.pass = outcome.is_ok();
        self.error = outcome.err();
        self
    }
}

/// Number of cases that ran, and number that failed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub cases: usize,
    pub failed: usize,
}

/// Compares an outcome with the value that the vector expects.
///
/// # Errors
///
/// Returns a message with both values if they differ.
pub fn same<T: PartialEq + std::fmt::Display + ?Sized>(
    what: &str,
    expected: &T,
    got: &T,
) -> Result<(), String> {
    if expected == got { Ok(()) } else { Err(format!("{what}: expected {expected}, got {got}")) }
}
