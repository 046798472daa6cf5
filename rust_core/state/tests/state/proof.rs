//! Proofs of accounts and slots against alloy's verifier.

use alloy_primitives::{Address, B256, KECCAK256_EMPTY, U256, keccak256};
use alloy_trie::{EMPTY_ROOT_HASH, Nibbles, TrieAccount, proof::verify_proof};
use foreseal_primitives::{Account, AccountDiff, ChangedAccount, StateDiff};
use foreseal_state::{AccountProof, State};

fn address(seed: u64) -> Address {
    Address::left_padding_from(&seed.to_be_bytes())
}

/// Accounts 0 to 99; every third account has as many slots as its number.
fn state() -> State {
    let changed = |seed: u64| {
        let account = Account { nonce: seed, balance: U256::from(seed) << 90, code_hash: KECCAK256_EMPTY };
        let slots = if seed.is_multiple_of(3) { 0..seed } else { 0..0 };
        let storage = slots.map(|slot| (U256::from(slot), U256::from(slot + 1))).collect();
        ChangedAccount {
            address: address(seed),
            diff: AccountDiff { account: Some(account), wiped: false, storage },
        }
    };
    State::default()
        .apply(&StateDiff { accounts: (0..100).map(changed).collect(), codes: Vec::new() })
        .expect("in memory")
}

fn verify(root: B256, proof: &AccountProof) {
    let leaf = proof.account.map(|account| {
        alloy_rlp::encode(TrieAccount {
            nonce: account.nonce,
            balance: account.balance,
            storage_root: proof.storage_root,
            code_hash: account.code_hash,
        })
    });
    verify_proof(root, Nibbles::unpack(keccak256(proof.address)), leaf, &proof.nodes).expect("account");
    for slot in &proof.slots {
        let key = Nibbles::unpack(keccak256(B256::from(slot.slot)));
        let value = (!slot.value.is_zero()).then(|| alloy_rlp::encode(slot.value));
        verify_proof(proof.storage_root, key, value, &slot.nodes).expect("slot");
    }
}

#[test]
fn proofs_verify_for_present_and_absent_accounts_and_slots() {
    let state = state();
    let slots: Vec<U256> = [0, 1, 5, 50, 98, 99, 1000].map(U256::from).to_vec();
    for seed in 0..130 {
        let proof = state.prove_account(&address(seed), &slots).unwrap();
        verify(state.root(), &proof);
        assert_eq!(proof.account.is_some(), seed < 100);
        let has_storage = seed < 100 && seed.is_multiple_of(3) && seed > 0;
        assert_eq!(proof.storage_root == EMPTY_ROOT_HASH, !has_storage);
        for slot in &proof.slots {
            let expected =
                if has_storage && slot.slot < U256::from(seed) { slot.slot + U256::ONE } else { U256::ZERO };
            assert_eq!(slot.value, expected);
        }
    }
}

#[test]
fn an_empty_state_proves_absence() {
    let proof = State::default().prove_account(&address(1), &[U256::ZERO]).unwrap();
    verify(State::default().root(), &proof);
    assert_eq!(proof.account, None);
    assert!(proof.nodes.is_empty());
}
