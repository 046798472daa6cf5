//! One decoder under test.

use crate::heap::{self, Usage};

/// Times the memory of one moment that a run may ask for in all.
const TURNOVER: usize = 64;

/// How much memory an input may take: so many bytes, and so many for each of its own.
#[derive(Clone, Copy, Debug)]
pub struct Memory {
    pub fixed: usize,
    pub each: usize,
}

/// A decoder, and what must hold for whatever it is given.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    pub name: &'static str,
    /// Bytes of the longest input that the long form makes.
    pub longest: usize,
    pub memory: Memory,
    /// Makes what the target shares between its runs.
    pub(crate) prepare: fn(),
    pub(crate) run: fn(&[u8]),
}

impl Target {
    /// Makes everything that the target shares between its runs, so that no run pays for it.
    pub fn prepare(&self) {
        (self.prepare)();
    }

    /// Gives an input to the decoder.
    ///
    /// # Panics
    /// When something does not hold, which is what a fuzzer looks for.
    pub fn execute(&self, input: &[u8]) {
        let Usage { peak, total } = heap::usage(|| (self.run)(input));
        let most = self.memory.fixed + self.memory.each * input.len();
        let name = self.name;
        assert!(peak <= most, "{name} takes {peak} bytes for {} of input, more than {most}", input.len());
        let most = most * TURNOVER;
        assert!(total <= most, "{name} asks for {total} bytes in all for {}, more than {most}", input.len());
    }
}
