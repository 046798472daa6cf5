//! The outcome of one case.

use alloy_primitives::B256;
use serde::Serialize;

/// One case as it went: one JSON line of the report.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Case {
    /// The file, as given or as it stands in the archive.
    pub file: String,
    pub name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fork: Option<String>,
    /// Which of the test's data, gas limits and values, for a state test.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gas: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<usize>,
    /// What came out, not what was expected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state_root: Option<B256>,
    /// Hash of the RLP of the logs that came out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub logs_hash: Option<B256>,
    pub pass: bool,
    /// What differed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

impl Case {
    /// A case by its name, not yet run.
    pub fn new(file: &str, name: &str) -> Self {
        Self { file: file.to_owned(), name: name.to_owned(), ..Self::default() }
    }

    /// The case with its outcome.
    #[must_use]
    pub fn outcome(mut self, outcome: Result<(), String>) -> Self {
        self.pass = outcome.is_ok();
        self.error = outcome.err();
        self
    }
}

/// How many cases ran, and how many of them failed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub cases: usize,
    pub failed: usize,
}

/// Compares an outcome with what the vector expects.
pub fn same<T: PartialEq + std::fmt::Display + ?Sized>(
    what: &str,
    expected: &T,
    got: &T,
) -> Result<(), String> {
    if expected == got { Ok(()) } else { Err(format!("{what}: expected {expected}, got {got}")) }
}
