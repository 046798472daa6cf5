//! Decoder under test.

use crate::heap::{self, Usage};

/// Maximum total allocation of a run, as a multiple of its maximum peak.
const TURNOVER: usize = 64;

/// Maximum peak memory of a run in bytes: `fixed` plus `each` per byte of input.
#[derive(Clone, Copy, Debug)]
pub struct Memory {
    pub fixed: usize,
    pub each: usize,
}

/// A decoder, and the properties that must hold for every input.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    pub name: &'static str,
    /// Maximum length of a generated input, in bytes.
    pub longest: usize,
    pub memory: Memory,
    /// Initializes the state that the target's runs share.
    pub(crate) prepare: fn(),
    pub(crate) run: fn(&[u8]),
}

impl Target {
    /// Initializes the state that the target's runs share, so that no run is charged for its memory.
    pub fn prepare(&self) {
        (self.prepare)();
    }

    /// Runs the decoder on an input, and checks its properties and its memory use.
    ///
    /// # Panics
    /// Panics if a property is violated or the run exceeds its memory limits.
    /// A fuzzer reports such a panic as a finding.
    pub fn execute(&self, input: &[u8]) {
        let Usage { peak, total } = heap::usage(|| (self.run)(input));
        let most = self.memory.fixed + self.memory.each * input.len();
        let name = self.name;
        assert!(peak <= most, "{name} takes {peak} bytes for {} of input, more than {most}", input.len());
        let most = most * TURNOVER;
        assert!(total <= most, "{name} asks for {total} bytes in all for {}, more than {most}", input.len());
    }
}
