//! Genesis files in geth's format.

use alloy_primitives::B256;
use foreseal_primitives::{ChainSpec, ForkPoint, parse_genesis};

use super::nothing;
use crate::{Memory, Target};

pub const TARGET: Target = Target {
    name: "genesis",
    longest: 1024,
    memory: Memory { fixed: 1 << 15, each: 256 },
    prepare: nothing,
    run,
};

/// Checks that an accepted genesis parses to the same value after it is written, and that every rule of the
/// chain can be computed for any block.
fn run(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    let genesis = match parse_genesis(text) {
        Ok(genesis) => genesis,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    let written = serde_json::to_string(&genesis).expect("a genesis is written as JSON");
    let again = parse_genesis(&written).unwrap_or_else(|error| panic!("{error}: {written}"));
    assert_eq!(serde_json::to_string(&again).ok().as_ref(), Some(&written));
    let spec = match ChainSpec::new(genesis) {
        Ok(spec) => spec,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    let mut header = spec.genesis_header(B256::ZERO);
    let hash = header.hash_slow();
    let encoded = alloy_rlp::encode(&header);
    let read: alloy_consensus::Header = alloy_rlp::decode_exact(encoded).expect("a header decodes");
    assert_eq!(read.hash_slow(), hash);
    for (number, timestamp) in
        [(header.number, header.timestamp), (1, u64::MAX), (u64::MAX, 0), (u64::MAX, u64::MAX)]
    {
        (header.number, header.timestamp) = (number, timestamp);
        for merged in [false, true] {
            let fork = spec.fork(ForkPoint { number, timestamp, merged });
            assert_eq!(fork, spec.fork(ForkPoint { number, timestamp, merged }));
        }
        let limits = spec.gas_limits_after(&header);
        assert!(limits.start() <= limits.end() || header.gas_limit < 5_000, "{limits:?}");
        let _ = (spec.produced_base_fee(&header), spec.base_fees(&header));
        let _ = (spec.blob_params(timestamp), spec.excess_blob_gas_after(&header, timestamp));
    }
}
