//! Names of the precompiled contracts.

use alloy_primitives::Address;

use crate::precompiles::PrecompileRules;

/// Returns the precompiled contracts under `rules`: their names in EIP-7910 and their addresses, sorted by name.
pub fn named_precompiles(rules: PrecompileRules) -> Vec<(&'static str, Address)> {
    let precompiles = rules.contracts();
    let named = precompiles.addresses().filter_map(|address| {
        let precompile = precompiles.get(address)?;
        Some((precompile.id().name(), *address))
    });
    let mut named: Vec<_> = named.collect();
    named.sort_unstable();
    named
}
