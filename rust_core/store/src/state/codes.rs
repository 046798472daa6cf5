//! Analysed code that was used lately.

use alloy_primitives::{B256, map::B256Map};
use parking_lot::Mutex;
use revm_bytecode::Bytecode;

/// Bytes of code in each half; analysis adds about an eighth.
const HALF: usize = 32 << 20;

/// A bounded cache. When one half is full it becomes the older one, and what is in neither is forgotten.
#[derive(Default)]
pub(crate) struct Codes {
    halves: Mutex<Halves>,
}

#[derive(Default)]
struct Halves {
    newer: B256Map<Bytecode>,
    newer_bytes: usize,
    older: B256Map<Bytecode>,
}

impl Codes {
    pub fn get(&self, hash: &B256) -> Option<Bytecode> {
        let mut halves = self.halves.lock();
        if let Some(code) = halves.newer.get(hash) {
            return Some(code.clone());
        }
        let code = halves.older.remove(hash)?;
        halves.put(*hash, code.clone());
        Some(code)
    }

    pub fn put(&self, hash: B256, code: Bytecode) {
        self.halves.lock().put(hash, code);
    }
}

impl Halves {
    fn put(&mut self, hash: B256, code: Bytecode) {
        if self.newer_bytes >= HALF {
            self.older = std::mem::take(&mut self.newer);
            self.newer_bytes = 0;
        }
        self.newer_bytes += code.len();
        self.newer.insert(hash, code);
    }
}

#[cfg(test)]
mod tests {
    use alloy_primitives::Bytes;

    use super::*;

    #[test]
    fn what_is_used_stays_and_what_is_not_goes() {
        let codes = Codes::default();
        let (kept, unused) = (B256::repeat_byte(1), B256::repeat_byte(2));
        let code = |fill| Bytecode::new_legacy(Bytes::from(vec![fill; HALF / 4]));
        codes.put(kept, code(1));
        codes.put(unused, code(2));
        for number in 0..20 {
            codes.put(B256::with_last_byte(number), code(number));
            assert!(codes.get(&kept).is_some());
        }
        assert!(codes.get(&unused).is_none());
        let halves = codes.halves.lock();
        assert!(halves.newer.len() + halves.older.len() <= 12);
    }
}
