//! Resident size of the state trie of a million accounts. `cargo run --release -p foreseal-benches --example
//! trie_memory`.

use alloy_primitives::{Address, U256, keccak256};
use foreseal_primitives::{Account, AccountDiff, ChangedAccount, StateDiff};
use foreseal_state::State;

const ACCOUNTS: u64 = 1_000_000;
/// Accounts inserted per batch, few enough that the batch itself hardly counts.
const STEP: u64 = 10_000;

fn main() {
    let before = resident();
    let mut state = State::default();
    for start in (0..ACCOUNTS).step_by(10_000) {
        state = state.apply(&diff(start, STEP)).expect("it is wholly in memory");
    }
    let after = resident();
    let size = after.saturating_sub(before);
    println!(
        "{{\"accounts\": {}, \"root\": \"{}\", \"resident_bytes\": {size}, \"bytes_per_account\": {}}}",
        state.account_count().unwrap_or(0),
        state.root(),
        size / ACCOUNTS,
    );
}

fn diff(start: u64, count: u64) -> StateDiff {
    let account = |at: u64| {
        let account = Account { nonce: 1, balance: U256::from(at), ..Account::default() };
        let address = Address::from_slice(&keccak256(at.to_be_bytes())[12..]);
        ChangedAccount { address, diff: AccountDiff { account: Some(account), ..AccountDiff::default() } }
    };
    let mut accounts: Vec<_> = (start..start + count).map(account).collect();
    accounts.sort_by_key(|changed| changed.address);
    StateDiff { accounts, codes: Vec::new() }
}

/// Returns resident bytes of this process, as counted by the kernel.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or_default();
    let kilobytes = line.split_whitespace().next().and_then(|number| number.parse::<u64>().ok());
    kilobytes.unwrap_or(0) * 1024
}
