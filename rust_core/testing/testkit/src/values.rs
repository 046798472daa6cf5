//! Deterministic values in place of random ones.

use alloy_primitives::{B256, U256};

/// Returns a source of `mixHash` values: 1, 2, 3 and so on.
pub fn counting() -> Box<dyn FnMut() -> B256 + Send> {
    let mut values = (1_u64..).map(|count| B256::from(U256::from(count)));
    Box::new(move || values.next().expect("they do not end"))
}
