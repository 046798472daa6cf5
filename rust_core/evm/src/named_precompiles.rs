//! Names of the precompiled contracts of a fork.

use alloy_primitives::Address;
use foreseal_primitives::SpecId;
use revm::precompile::{PrecompileSpecId, Precompiles};

/// Returns the precompiled contracts under the rules of `fork`: their names in EIP-7910 and their addresses,
/// sorted by name.
pub fn named_precompiles(fork: SpecId) -> Vec<(&'static str, Address)> {
    let precompiles = Precompiles::new(PrecompileSpecId::from_spec_id(fork));
    let named = precompiles.addresses().filter_map(|address| {
        let precompile = precompiles.get(address)?;
        Some((precompile.id().name(), *address))
    });
    let mut named: Vec<_> = named.collect();
    named.sort_unstable();
    named
}
