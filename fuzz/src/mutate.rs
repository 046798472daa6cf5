//! Mutation of inputs, for runs without the coverage-guided engine.

use rand::{Rng, SeedableRng, rngs::StdRng, seq::IndexedRandom};

/// Bytes with a special meaning for decoders, such as RLP prefixes and JSON delimiters.
const TELLING: [u8; 20] = [
    0x00, 0x01, 0x02, 0x7f, 0x80, 0x81, 0xb7, 0xb8, 0xbf, 0xc0, 0xc1, 0xf7, 0xf8, 0xff, b'"', b'[', b'{',
    b'0', b'x', b',',
];

/// Deterministic generator of mutated inputs: equal seeds produce equal inputs.
#[derive(Debug)]
pub struct Mutator(StdRng);

impl Mutator {
    /// Creates a mutator from a seed.
    pub fn new(seed: u64) -> Self {
        Self(StdRng::seed_from_u64(seed))
    }

    /// Returns one of `inputs` with one to four changes, at most `longest` bytes long. A change may insert a
    /// part of another input.
    pub fn next(&mut self, inputs: &[Vec<u8>], longest: usize) -> Vec<u8> {
        let mut bytes = inputs.choose(&mut self.0).cloned().unwrap_or_default();
        for _ in 0..self.0.random_range(1..=4) {
            self.change(&mut bytes, inputs);
        }
        bytes.truncate(longest);
        bytes
    }

    fn change(&mut self, bytes: &mut Vec<u8>, inputs: &[Vec<u8>]) {
        let (start, end) = self.part(bytes.len(), 16);
        match self.0.random_range(0..6) {
            0 => {
                bytes[start..end].iter_mut().take(1).for_each(|byte| *byte ^= 1 << self.0.random_range(0..8));
            }
            1 => {
                let telling = *TELLING.choose(&mut self.0).expect("there are some");
                bytes[start..end].iter_mut().take(1).for_each(|byte| *byte = telling);
            }
            2 => drop(bytes.drain(start..end)),
            3 => {
                let part = bytes[start..end].to_vec();
                bytes.splice(start..start, part);
            }
            4 => {
                let telling = *TELLING.choose(&mut self.0).expect("there are some");
                bytes.insert(start, telling);
            }
            _ => {
                let other = inputs.choose(&mut self.0).map_or(&[][..], Vec::as_slice);
                let (from, to) = self.part(other.len(), 64);
                bytes.splice(start..end, other[from..to].iter().copied());
            }
        }
    }

    /// Returns the bounds of a random range within `length` bytes, at most `most` bytes long.
    fn part(&mut self, length: usize, most: usize) -> (usize, usize) {
        let start = self.0.random_range(0..=length);
        (start, start + self.0.random_range(0..=most.min(length - start)))
    }
}
