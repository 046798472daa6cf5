//! Prediction of the slots that a transaction reads, so that the slots of many transactions are read in one batch.
//!
//! A contract finds the entry of a mapping by the hash of its key and of the mapping's position. The first
//! transaction that calls a method is executed with its hashes recorded. If a key was the sender or an argument, then
//! the next transactions that call this method predict their own slots. A wrong prediction costs one read of a slot;
//! there are at most [`MAX_ACCESSES`] per transaction, whose intrinsic gas exceeds that of as many reads.

use alloy_consensus::Transaction as _;
use alloy_primitives::{Address, B256, U256, map::HashMap};
use foreseal_keccak::keccak_batch;
use foreseal_primitives::Transaction;

/// Maximum number of mapping entries that are predicted for a transaction.
const MAX_ACCESSES: usize = 8;
/// Maximum number of hashes that are recorded in one transaction.
pub(crate) const MAX_RECORDED: usize = 32;
/// Maximum number of methods that are predicted.
const MAX_METHODS: usize = 256;
/// Maximum number of arguments that are compared with a key.
const MAX_ARGUMENTS: usize = 16;
/// Length of a function selector in bytes.
const SELECTOR_SIZE: usize = 4;
/// Length of an argument in bytes.
const ARGUMENT_SIZE: usize = 32;

/// A function of a contract.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Method {
    contract: Address,
    selector: [u8; SELECTOR_SIZE],
}

impl Method {
    fn called_by(transaction: &Transaction) -> Option<Self> {
        let contract = transaction.envelope().to()?;
        let selector = *transaction.envelope().input().first_chunk()?;
        Some(Self { contract, selector })
    }
}

/// The hash of two words, computed while the storage of `contract` was in use.
#[derive(Clone, Copy)]
pub(crate) struct MappingHash {
    pub contract: Address,
    pub key: B256,
    pub position: B256,
    pub hash: B256,
}

/// Origin of the key of a mapping entry.
#[derive(Clone, Copy, PartialEq, Eq)]
enum MappingKey {
    Sender,
    /// The argument with this index.
    Argument(usize),
}

impl MappingKey {
    /// Returns the origin of a key in a transaction; `None` if it is neither the sender nor an argument.
    fn find(transaction: &Transaction, key: B256) -> Option<Self> {
        if transaction.sender().into_word() == key {
            return Some(Self::Sender);
        }
        let arguments = transaction.envelope().input().get(SELECTOR_SIZE..)?;
        let mut arguments = arguments.chunks_exact(ARGUMENT_SIZE).take(MAX_ARGUMENTS);
        arguments.position(|argument| argument == key).map(Self::Argument)
    }

    fn read(self, transaction: &Transaction) -> Option<B256> {
        match self {
            Self::Sender => Some(transaction.sender().into_word()),
            Self::Argument(index) => {
                let start = SELECTOR_SIZE + index * ARGUMENT_SIZE;
                transaction.envelope().input().get(start..start + ARGUMENT_SIZE).map(B256::from_slice)
            }
        }
    }
}

/// Position of a mapping.
#[derive(Clone, Copy, PartialEq, Eq)]
enum MappingPosition {
    Constant(B256),
    /// The mapping is the value of an earlier access of the method.
    Nested(usize),
}

/// Access of a method to a mapping.
#[derive(Clone, Copy, PartialEq, Eq)]
struct MappingAccess {
    contract: Address,
    key: MappingKey,
    position: MappingPosition,
}

impl MappingAccess {
    /// Returns the bytes whose hash is the slot; `slots` are those of the earlier accesses.
    fn preimage(&self, transaction: &Transaction, slots: &[Option<B256>]) -> Option<[u8; 2 * ARGUMENT_SIZE]> {
        let position = match self.position {
            MappingPosition::Constant(position) => position,
            MappingPosition::Nested(earlier) => slots.get(earlier).copied().flatten()?,
        };
        let mut preimage = [0; 2 * ARGUMENT_SIZE];
        preimage[..ARGUMENT_SIZE].copy_from_slice(self.key.read(transaction)?.as_slice());
        preimage[ARGUMENT_SIZE..].copy_from_slice(position.as_slice());
        Some(preimage)
    }
}

/// A slot that a transaction probably reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PredictedSlot {
    pub contract: Address,
    pub slot: U256,
}

/// Accesses of the methods of earlier transactions.
#[derive(Default)]
pub(crate) struct SlotPredictor {
    /// `None` until a transaction that calls the method has been executed.
    methods: HashMap<Method, Option<Vec<MappingAccess>>>,
}

impl SlotPredictor {
    /// Returns the slots that the transactions probably read, and requests recordings of unknown methods.
    pub fn predict(&mut self, transactions: &[&Transaction]) -> Vec<PredictedSlot> {
        for method in transactions.iter().filter_map(|one| Method::called_by(one)) {
            if self.methods.len() < MAX_METHODS {
                self.methods.entry(method).or_default();
            }
        }
        let predicted: Vec<(&Transaction, &[MappingAccess])> =
            transactions.iter().filter_map(|one| Some((*one, self.accesses(one)?))).collect();
        let mut slots: Vec<Vec<Option<B256>>> = vec![Vec::new(); predicted.len()];
        let (mut preimages, mut owners, mut hashes) = (Vec::new(), Vec::new(), Vec::new());
        for index in 0..MAX_ACCESSES {
            preimages.clear();
            owners.clear();
            for (owner, (transaction, accesses)) in predicted.iter().enumerate() {
                let Some(access) = accesses.get(index) else { continue };
                let preimage = access.preimage(transaction, &slots[owner]);
                slots[owner].push(None);
                if let Some(preimage) = preimage {
                    preimages.push(preimage);
                    owners.push(owner);
                }
            }
            hashes.resize(preimages.len(), B256::ZERO);
            keccak_batch(
                &preimages.iter().map(<[u8; 2 * ARGUMENT_SIZE]>::as_slice).collect::<Vec<_>>(),
                &mut hashes,
            );
            for (owner, hash) in owners.iter().zip(&hashes) {
                slots[*owner][index] = Some(*hash);
            }
        }
        let values = predicted.iter().zip(slots).flat_map(|((_, accesses), slots)| {
            accesses.iter().zip(slots).enumerate().filter_map(|(index, (access, slot))| {
                let is_mapping = accesses.iter().any(|one| one.position == MappingPosition::Nested(index));
                let slot = slot.filter(|_| !is_mapping)?.into();
                Some(PredictedSlot { contract: access.contract, slot })
            })
        });
        values.collect()
    }

    fn accesses(&self, transaction: &Transaction) -> Option<&[MappingAccess]> {
        self.methods.get(&Method::called_by(transaction)?)?.as_deref().filter(|known| !known.is_empty())
    }

    /// Returns the method of the transaction if its hashes are to be recorded.
    pub fn unknown_method(&self, transaction: &Transaction) -> Option<Method> {
        if self.methods.is_empty() {
            return None;
        }
        Method::called_by(transaction).filter(|method| matches!(self.methods.get(method), Some(None)))
    }

    /// Stores the accesses of a method that a transaction has called.
    pub fn learn(&mut self, method: Method, transaction: &Transaction, recorded: &[MappingHash]) {
        let mut accesses: Vec<MappingAccess> = Vec::new();
        let mut hashes = Vec::new();
        for MappingHash { contract, key, position, hash } in recorded {
            let Some(key) = MappingKey::find(transaction, *key) else { continue };
            let position = hashes
                .iter()
                .position(|earlier| earlier == position)
                .map_or(MappingPosition::Constant(*position), MappingPosition::Nested);
            let access = MappingAccess { contract: *contract, key, position };
            if accesses.len() < MAX_ACCESSES && !accesses.contains(&access) {
                accesses.push(access);
                hashes.push(*hash);
            }
        }
        self.methods.insert(method, Some(accesses));
    }
}
