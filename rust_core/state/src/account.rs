//! Values in the leaves of the state trie and the storage tries.

use std::sync::Arc;

use alloy_primitives::{B256, KECCAK256_EMPTY, U256};
use alloy_rlp::{Decodable, Encodable, Header};
use foreseal_primitives::Account;
use foreseal_trie::{EMPTY_ROOT, Trie, Value};

/// Value of a storage slot; never zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SlotValue(pub U256);

impl Value for SlotValue {
    fn encode(&self, out: &mut Vec<u8>) {
        self.0.encode(out);
    }

    fn decode(mut bytes: &[u8]) -> Option<Self> {
        let value = U256::decode(&mut bytes).ok()?;
        (bytes.is_empty() && !value.is_zero()).then_some(Self(value))
    }
}

/// An account with its storage. Most accounts have neither code nor storage, and then need no allocation.
#[derive(Clone)]
pub(crate) struct AccountLeaf {
    nonce: u64,
    balance: U256,
    contract: Option<Arc<Contract>>,
}

struct Contract {
    code_hash: B256,
    storage: Trie<SlotValue>,
}

impl AccountLeaf {
    pub fn new(account: Account, storage: Trie<SlotValue>) -> Self {
        let Account { nonce, balance, code_hash } = account;
        let plain = code_hash == KECCAK256_EMPTY && storage.is_empty();
        Self { nonce, balance, contract: (!plain).then(|| Arc::new(Contract { code_hash, storage })) }
    }

    pub fn account(&self) -> Account {
        let code_hash = self.contract.as_ref().map_or(KECCAK256_EMPTY, |contract| contract.code_hash);
        Account { nonce: self.nonce, balance: self.balance, code_hash }
    }

    pub fn storage(&self) -> Option<&Trie<SlotValue>> {
        self.contract.as_ref().map(|contract| &contract.storage)
    }

    /// Returns the same account with another form of its storage.
    pub fn with_storage(&self, storage: Trie<SlotValue>) -> Self {
        Self::new(self.account(), storage)
    }

    pub fn storage_root(&self) -> B256 {
        self.storage().map_or(EMPTY_ROOT, Trie::root)
    }
}

impl Value for AccountLeaf {
    /// Encodes RLP of `[nonce, balance, storage root, code hash]` (yellow paper, section 4.1).
    fn encode(&self, out: &mut Vec<u8>) {
        let code_hash = self.account().code_hash;
        let storage_root = self.storage_root();
        let payload_length =
            self.nonce.length() + self.balance.length() + storage_root.length() + code_hash.length();
        Header { list: true, payload_length }.encode(out);
        self.nonce.encode(out);
        self.balance.encode(out);
        storage_root.encode(out);
        code_hash.encode(out);
    }

    /// Decodes the account; of its storage only the root is known, so the storage trie is a stub.
    fn decode(mut bytes: &[u8]) -> Option<Self> {
        let header = Header::decode(&mut bytes).ok().filter(|header| header.list)?;
        if bytes.len() != header.payload_length {
            return None;
        }
        let nonce = u64::decode(&mut bytes).ok()?;
        let balance = U256::decode(&mut bytes).ok()?;
        let storage_root = B256::decode(&mut bytes).ok()?;
        let code_hash = B256::decode(&mut bytes).ok()?;
        let account = Account { nonce, balance, code_hash };
        bytes.is_empty().then(|| Self::new(account, Trie::from_root(storage_root)))
    }
}
