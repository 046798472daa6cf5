//! Fork activation points, and the checksum that identifies the active forks (EIP-2124, EIP-6122).

use alloy_eips::eip2124::ForkHash;
use alloy_primitives::B256;

use crate::chain::ChainSpec;

impl ChainSpec {
    /// Returns the activation times of the forks after genesis: Unix seconds, ascending, without duplicates.
    pub fn fork_times(&self) -> Vec<u64> {
        let config = self.config();
        let times = [
            config.shanghai_time,
            config.cancun_time,
            config.prague_time,
            config.osaka_time,
            config.bpo1_time,
            config.bpo2_time,
            config.bpo3_time,
            config.bpo4_time,
            config.bpo5_time,
        ];
        after(times, self.genesis().timestamp)
    }

    /// Returns the `FORK_HASH` at `timestamp`: a checksum of the
    /// genesis hash and of every fork up to that time.
    pub fn fork_hash(&self, genesis: B256, timestamp: u64) -> [u8; 4] {
        let times = self.fork_times().into_iter().take_while(|time| *time <= timestamp);
        let forks = self.fork_blocks().into_iter().chain(times);
        forks.fold(ForkHash::from(genesis), |hash, fork| hash + fork).0
    }

    /// Returns the activation block numbers of the forks after genesis.
    fn fork_blocks(&self) -> Vec<u64> {
        let config = self.config();
        let blocks = [
            config.homestead_block,
            config.dao_fork_block,
            config.eip150_block,
            config.eip155_block,
            config.eip158_block,
            config.byzantium_block,
            config.constantinople_block,
            config.petersburg_block,
            config.istanbul_block,
            config.muir_glacier_block,
            config.berlin_block,
            config.london_block,
            config.arrow_glacier_block,
            config.gray_glacier_block,
            config.merge_netsplit_block,
        ];
        after(blocks, 0)
    }
}

/// Returns the numbers above `start`, ascending, without duplicates.
fn after<const N: usize>(forks: [Option<u64>; N], start: u64) -> Vec<u64> {
    let mut upcoming: Vec<u64> = forks.into_iter().flatten().filter(|fork| *fork > start).collect();
    upcoming.sort_unstable();
    upcoming.dedup();
    upcoming
}
