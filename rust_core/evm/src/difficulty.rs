//! Difficulty of a proof-of-work block.

use alloy_consensus::{Header, constants::EMPTY_OMMER_ROOT_HASH};
use alloy_primitives::U256;
use foreseal_primitives::ChainSpec;

/// Minimum difficulty.
const MINIMUM: U256 = U256::from_limbs([131_072, 0, 0, 0]);

/// Returns the difficulty that the block after `parent` must have at `timestamp` (seconds).
///
/// Implements Frontier, EIP-2, EIP-100 and the delays of the difficulty bomb (EIP-649, 1234, 2384, 3554,
/// 4345, 5133).
pub fn difficulty_after(spec: &ChainSpec, parent: &Header, timestamp: u64) -> U256 {
    let config = spec.config();
    let number = parent.number + 1;
    let active = |fork: Option<u64>| fork.is_some_and(|block| block <= number);
    let elapsed = timestamp.saturating_sub(parent.timestamp);
    // Number of 2048ths of the parent's difficulty to add or to subtract.
    let (raise, fall) = if active(config.byzantium_block) {
        let base = if parent.ommers_hash == EMPTY_OMMER_ROOT_HASH { 1 } else { 2 };
        steps(base, elapsed / 9)
    } else if active(config.homestead_block) {
        steps(1, elapsed / 10)
    } else {
        steps(1, if elapsed < 13 { 0 } else { 2 })
    };
    let step = parent.difficulty / U256::from(2048);
    let moved = (parent.difficulty + step * U256::from(raise)).saturating_sub(step * U256::from(fall));
    let delays = [
        (config.gray_glacier_block, 11_400_000),
        (config.arrow_glacier_block, 10_700_000),
        (config.london_block, 9_700_000),
        (config.muir_glacier_block, 9_000_000),
        (config.constantinople_block, 5_000_000),
        (config.byzantium_block, 3_000_000),
    ];
    let delay = delays.into_iter().find(|(fork, _)| active(*fork)).map_or(0, |(_, delay)| delay);
    moved.max(MINIMUM) + bomb(number.saturating_sub(delay))
}

/// Returns `base - slow`, at least -99, as a pair of an increase and a decrease.
fn steps(base: u64, slow: u64) -> (u64, u64) {
    (base.saturating_sub(slow), slow.saturating_sub(base).min(99))
}

fn bomb(number: u64) -> U256 {
    match (number / 100_000).checked_sub(2) {
        Some(period) => {
            U256::ONE.checked_shl(usize::try_from(period).unwrap_or(usize::MAX)).unwrap_or(U256::MAX)
        }
        None => U256::ZERO,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloy_genesis::{ChainConfig, Genesis};

    fn after(config: ChainConfig, parent: &Header, timestamp: u64) -> u64 {
        let spec = ChainSpec::new(Genesis { config, ..Genesis::default() }).unwrap();
        difficulty_after(&spec, parent, timestamp).to()
    }

    #[test]
    fn mainnet_blocks_have_their_recorded_difficulty() {
        let frontier = ChainConfig { homestead_block: Some(1_150_000), ..ChainConfig::default() };
        // Mainnet blocks 0 and 1.
        let genesis = Header { difficulty: U256::from(17_179_869_184u64), ..Header::default() };
        assert_eq!(after(frontier.clone(), &genesis, 1_438_269_988), 17_171_480_576);
        // The first step of the difficulty bomb.
        let parent =
            Header { number: 199_999, difficulty: U256::from(1 << 30), timestamp: 100, ..Header::default() };
        assert_eq!(after(frontier, &parent, 112), (1 << 30) + (1 << 19) + 1);
    }

    #[test]
    fn uncles_and_slow_blocks_change_the_difficulty_from_byzantium() {
        let byzantium = ChainConfig { byzantium_block: Some(0), ..ChainConfig::default() };
        let base = 1 << 22;
        let parent = Header { difficulty: U256::from(base), timestamp: 1000, ..Header::default() };
        let with_uncles = Header { ommers_hash: alloy_primitives::B256::ZERO, ..parent.clone() };
        let step = base / 2048;
        assert_eq!(after(byzantium.clone(), &parent, 1008), base + step);
        assert_eq!(after(byzantium.clone(), &with_uncles, 1008), base + 2 * step);
        assert_eq!(after(byzantium.clone(), &parent, 1027), base - 2 * step);
        assert_eq!(after(byzantium.clone(), &parent, 9000), base - 99 * step);
        let least = Header { difficulty: MINIMUM, ..parent };
        assert_eq!(after(byzantium, &least, 9000), 131_072);
    }
}
