//! Random transactions of every kind that a block can hold.

use alloy_eips::{eip7002, eip7251};
use alloy_primitives::{Address, Bytes, TxKind, U256};
use rand::{Rng, SeedableRng, rngs::StdRng, seq::IndexedRandom};

use crate::{Contract, Fees, Wallet, deploy_code, erc20_transfer};

/// Kinds of transactions that a [`Workload`] generates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransactionKinds {
    /// All kinds but blob transactions, whose proofs take long to compute.
    WithoutBlobs,
    /// Transfers only.
    Transfers,
}

/// An endless supply of valid transactions from a set of wallets, determined by its seed.
#[derive(Debug)]
pub struct Workload {
    wallets: Vec<Wallet>,
    nonces: Vec<u64>,
    random: StdRng,
    kinds: TransactionKinds,
}

impl Workload {
    /// Creates a workload of transactions from `wallets`, which must not have sent any yet.
    pub fn new(wallets: Vec<Wallet>, kinds: TransactionKinds, seed: u64) -> Self {
        let nonces = vec![0; wallets.len()];
        Self { wallets, nonces, random: StdRng::seed_from_u64(seed), kinds }
    }

    /// Returns the wallets that send.
    pub fn wallets(&self) -> &[Wallet] {
        &self.wallets
    }

    /// Returns the next transaction (EIP-2718 bytes).
    pub fn next_transaction(&mut self) -> Bytes {
        let sender = self.random.random_range(0..self.wallets.len());
        let kind = match self.kinds {
            TransactionKinds::Transfers => 0,
            TransactionKinds::WithoutBlobs => self.random.random_range(0..14),
        };
        self.transaction(sender, kind)
    }

    /// Returns a transaction with one blob.
    pub fn next_blob(&mut self) -> Bytes {
        let sender = self.random.random_range(0..self.wallets.len());
        let to = self.random_address();
        let nonce = self.nonce(sender);
        let fill = self.random.random();
        self.wallets[sender].blob(nonce, to, fill)
    }

    fn nonce(&mut self, sender: usize) -> u64 {
        self.nonces[sender] += 1;
        self.nonces[sender] - 1
    }

    fn random_address(&mut self) -> Address {
        let existing = self.wallets.choose(&mut self.random).expect("a workload has wallets").address;
        if self.random.random_bool(0.3) { Address::new(self.random.random()) } else { existing }
    }

    fn fees(&mut self) -> Fees {
        Fees { max_fee: 20_000_000_000, tip: self.random.random_range(1..3_000_000_000) }
    }

    fn transaction(&mut self, sender: usize, kind: u8) -> Bytes {
        let nonce = self.nonce(sender);
        let wallet = self.wallets[sender].clone();
        let (fees, to) = (self.fees(), self.random_address());
        let price = 10_000_000_000_u128 + fees.tip;
        let value = U256::from(self.random.random_range(0..1_000_000_u64));
        let call = |contract: Contract, data: Bytes| {
            wallet.eip1559(nonce, contract.address().into(), U256::ZERO, 150_000, data, fees)
        };
        let padded_address = || Bytes::copy_from_slice(to.into_word().as_slice());
        match kind {
            1 => wallet.legacy(nonce, to.into(), value, 21_000, Bytes::new(), price),
            2 => wallet.eip2930(nonce, to.into(), value, 30_000, Bytes::new(), price),
            3 => call(Contract::Counter, Bytes::new()),
            4 | 5 => call(Contract::Logger, padded_address()),
            6 => call(Contract::Reverter, padded_address()),
            7 => call(Contract::SelfDestructor, Bytes::new()),
            8 => call(Contract::Environment, Bytes::new()),
            9 => call(Contract::Erc20, erc20_transfer(to, U256::from(self.random.random_range(0..100)))),
            10 => {
                let code = deploy_code(&Contract::Logger.code());
                wallet.eip1559(nonce, TxKind::Create, U256::ZERO, 300_000, code, fees)
            }
            11 => {
                // The wallet delegates to itself. Its nonce is already past this transaction's, so the
                // authorization uses one more.
                self.nonces[sender] += 1;
                wallet.set_code(nonce, &wallet, nonce + 1, Contract::Counter.address())
            }
            12 => self.request(sender, nonce, fees, eip7002::WITHDRAWAL_REQUEST_PREDEPLOY_ADDRESS, 56),
            13 => self.request(sender, nonce, fees, eip7251::CONSOLIDATION_REQUEST_PREDEPLOY_ADDRESS, 96),
            _ => wallet.eip1559(nonce, to.into(), value, 30_000, Bytes::new(), fees),
        }
    }

    /// Returns a request to a system contract that pays more than its fee.
    fn request(&mut self, sender: usize, nonce: u64, fees: Fees, contract: Address, length: usize) -> Bytes {
        let payload: Vec<u8> = (0..length).map(|_| self.random.random()).collect();
        let fee = U256::from(1_000_000);
        self.wallets[sender].eip1559(nonce, contract.into(), fee, 300_000, payload.into(), fees)
    }
}
