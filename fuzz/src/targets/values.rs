//! Values of the store's tables.

use foreseal_store::values::{ValueEncoding, rewritten};

use super::nothing;
use crate::{Memory, Target};

pub const TARGET: Target = Target {
    name: "values",
    longest: 768,
    memory: Memory { fixed: 4 << 20, each: 2100 },
    prepare: nothing,
    run,
};

/// Checks that a decoded value has a stable encoding from the first rewrite on.
///
/// The first byte of the input selects the table.
fn run(input: &[u8]) {
    let Some((&form, bytes)) = input.split_first() else { return };
    let form = ValueEncoding::ALL[usize::from(form) % ValueEncoding::ALL.len()];
    let Some(written) = rewritten(form, bytes) else { return };
    let again = rewritten(form, &written);
    assert_eq!(again.as_deref(), Some(&written[..]), "{form:?}");
    if form.is_canonical() {
        assert_eq!(written, bytes, "{form:?} has one encoding");
    }
}
