//! Proof-of-work rewards.

use alloy_consensus::Header;
use alloy_primitives::{Address, U256};
use foreseal_primitives::SpecId;

const ETHER: u128 = 1_000_000_000_000_000_000;

/// Returns the reward of a proof-of-work block in wei (yellow paper 11.3; EIP-649, EIP-1234); `None` after
/// the merge.
pub fn block_reward(fork: SpecId) -> Option<u128> {
    if fork.is_enabled_in(SpecId::MERGE) {
        None
    } else if fork.is_enabled_in(SpecId::PETERSBURG) {
        Some(2 * ETHER)
    } else if fork.is_enabled_in(SpecId::BYZANTIUM) {
        Some(3 * ETHER)
    } else {
        Some(5 * ETHER)
    }
}

/// Returns the recipients and amounts (wei) of a proof-of-work block's rewards, in the order of payment.
///
/// Each uncle's miner receives (8 - distance) / 8 of the reward. The block's miner receives the reward and
/// 1/32 of it per uncle.
pub fn rewards(fork: SpecId, number: u64, beneficiary: Address, uncles: &[Header]) -> Vec<(Address, U256)> {
    let Some(reward) = block_reward(fork) else { return Vec::new() };
    let reward = U256::from(reward);
    let uncle = |uncle: &Header| {
        let eighths = (uncle.number + 8).saturating_sub(number);
        (uncle.beneficiary, reward * U256::from(eighths) / U256::from(8))
    };
    let mut paid: Vec<_> = uncles.iter().map(uncle).collect();
    paid.push((beneficiary, reward + reward * U256::from(uncles.len()) / U256::from(32)));
    paid
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rewards_follow_the_forks() {
        let miner = Address::repeat_byte(1);
        let uncle = Header { number: 9, beneficiary: Address::repeat_byte(2), ..Header::default() };
        let ether = U256::from(ETHER);
        assert_eq!(rewards(SpecId::MERGE, 10, miner, &[]), vec![]);
        assert_eq!(rewards(SpecId::LONDON, 10, miner, &[]), vec![(miner, ether * U256::from(2))]);
        assert_eq!(rewards(SpecId::BYZANTIUM, 10, miner, &[]), vec![(miner, ether * U256::from(3))]);
        let five = ether * U256::from(5);
        assert_eq!(
            rewards(SpecId::FRONTIER, 10, miner, std::slice::from_ref(&uncle)),
            vec![
                (uncle.beneficiary, five * U256::from(7) / U256::from(8)),
                (miner, five + five / U256::from(32))
            ]
        );
    }
}
