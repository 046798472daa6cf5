//! A state in plain maps: the test double for execution tests.

use std::collections::BTreeMap;

use alloy_consensus::{Header, SignableTransaction, TxEip1559};
use alloy_eips::eip2930::AccessList;
use alloy_genesis::Genesis;
use alloy_primitives::{Address, B256, Bytes, Signature, TxKind, U256, address, keccak256};
use foreseal_primitives::{
    Account, ChainSpec, DevGenesis, OptimismFork, StateDiff, Transaction, dev_genesis, system_contracts,
};
use foreseal_state::{BlockHashes, StateError, StateReader, StorageReader};
use foreseal_testkit::optimism_genesis;
use revm::bytecode::Bytecode;

pub const ALICE: Address = address!("0xa11ce00000000000000000000000000000000001");
pub const BOB: Address = address!("0xb0b0000000000000000000000000000000000002");
pub const MINER: Address = address!("0xc000000000000000000000000000000000000003");

#[derive(Clone, Debug, Default, PartialEq)]
pub struct MemoryState {
    pub accounts: BTreeMap<Address, Account>,
    pub storage: BTreeMap<(Address, U256), U256>,
    pub codes: BTreeMap<B256, Bytes>,
    /// Account whose reads fail.
    pub broken: Option<Address>,
}

impl StateReader for MemoryState {
    fn account(&self, address: &Address) -> Result<Option<Account>, StateError> {
        if self.broken == Some(*address) {
            return Err(StateError::Store("broken on purpose".to_owned()));
        }
        Ok(self.accounts.get(address).copied())
    }

    fn storage(&self, address: &Address, slot: &U256) -> Result<U256, StateError> {
        Ok(self.storage.get(&(*address, *slot)).copied().unwrap_or_default())
    }

    fn account_storage(&self, address: &Address) -> Result<Box<dyn StorageReader + '_>, StateError> {
        Ok(Box::new(MemoryStorage(self, *address)))
    }

    fn has_storage(&self, address: &Address) -> Result<bool, StateError> {
        Ok(self.storage.keys().any(|(owner, _)| owner == address))
    }

    fn code(&self, hash: &B256) -> Result<Bytecode, StateError> {
        let code = self.codes.get(hash).ok_or(StateError::MissingCode(*hash))?;
        Bytecode::new_raw_checked(code.clone()).map_err(|error| StateError::Store(error.to_string()))
    }
}

struct MemoryStorage<'a>(&'a MemoryState, Address);

impl StorageReader for MemoryStorage<'_> {
    fn slot(&self, slot: &U256) -> Result<U256, StateError> {
        self.0.storage(&self.1, slot)
    }
}

impl BlockHashes for MemoryState {
    fn block_hash(&self, number: u64) -> Result<Option<B256>, StateError> {
        Ok(Some(keccak256(number.to_be_bytes())))
    }
}

impl MemoryState {
    /// Returns a state with Alice and Bob at 100 ether each, and the system contracts.
    pub fn funded() -> Self {
        let mut state = Self::default();
        for address in [ALICE, BOB] {
            let balance = U256::from(100) * U256::from(10).pow(U256::from(18));
            state.accounts.insert(address, Account { balance, ..Account::default() });
        }
        for (address, code) in system_contracts() {
            state.deploy(address, code);
        }
        state
    }

    pub fn deploy(&mut self, address: Address, code: impl Into<Bytes>) {
        let code = code.into();
        let code_hash = keccak256(&code);
        let before = self.accounts.get(&address).copied().unwrap_or_default();
        self.accounts.insert(address, Account { nonce: 1, code_hash, ..before });
        self.codes.insert(code_hash, code);
    }

    pub fn apply(&mut self, diff: &StateDiff) {
        assert!(diff.accounts.is_sorted_by(|a, b| a.address < b.address), "accounts are sorted");
        assert!(diff.codes.is_sorted_by(|a, b| a.hash < b.hash), "codes are sorted");
        for code in &diff.codes {
            assert_eq!(keccak256(&code.code), code.hash);
            self.codes.insert(code.hash, code.code.clone());
        }
        for changed in &diff.accounts {
            let address = changed.address;
            if changed.diff.wiped {
                self.storage.retain(|(owner, _), _| *owner != address);
            }
            match changed.diff.account {
                Some(account) => self.accounts.insert(address, account),
                None => self.accounts.remove(&address),
            };
            assert!(changed.diff.storage.is_sorted_by(|a, b| a.0 < b.0), "slots are sorted");
            for (slot, value) in &changed.diff.storage {
                if value.is_zero() {
                    self.storage.remove(&(address, *slot));
                } else {
                    self.storage.insert((address, *slot), *value);
                }
            }
        }
    }
}

pub fn dev_spec() -> ChainSpec {
    ChainSpec::new(genesis()).expect("the development genesis is valid")
}

/// Returns the rules of an OP chain (Karst) that is otherwise the development chain.
pub fn optimism_spec() -> ChainSpec {
    let genesis = optimism_genesis(genesis(), OptimismFork::Karst);
    ChainSpec::new(genesis).expect("the genesis is valid")
}

fn genesis() -> Genesis {
    let settings = DevGenesis {
        chain_id: 31_337,
        gas_limit: 400_000_000,
        timestamp: 1_800_000_000,
        accounts: vec![],
        balance: U256::ZERO,
    };
    dev_genesis(&settings)
}

/// Returns the header of block 1 of the development chain.
pub fn header() -> Header {
    Header {
        number: 1,
        timestamp: 1_800_000_002,
        gas_limit: 400_000_000,
        beneficiary: MINER,
        base_fee_per_gas: Some(1_000_000_000),
        excess_blob_gas: Some(0),
        blob_gas_used: Some(0),
        mix_hash: B256::repeat_byte(9),
        parent_beacon_block_root: Some(B256::repeat_byte(4)),
        ..Header::default()
    }
}

pub fn transaction(nonce: u64, to: TxKind, value: u64, input: impl Into<Bytes>) -> TxEip1559 {
    TxEip1559 {
        chain_id: 31_337,
        nonce,
        gas_limit: 1_000_000,
        max_fee_per_gas: 3_000_000_000,
        max_priority_fee_per_gas: 1_000_000_000,
        to,
        value: U256::from(value),
        access_list: AccessList::default(),
        input: input.into(),
    }
}

/// Signs with a dummy signature; the sender is given.
pub fn sign<T: SignableTransaction<Signature>>(transaction: T, sender: Address) -> Transaction
where
    foreseal_primitives::Envelope: From<alloy_consensus::Signed<T>>,
{
    let signed = transaction.into_signed(Signature::new(U256::from(1), U256::from(1), false));
    Transaction::new(signed, sender)
}
