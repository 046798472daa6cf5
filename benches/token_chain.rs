use std::sync::Arc;

use alloy_primitives::{Address, B256, Bytes, U256, keccak256};
use foreseal_builder::{NextBlockAttributes, ParentBlock, PendingBlock};
use foreseal_journal::{Identity, JournalOptions, LocalJournal, RealDisk};
use foreseal_pool::{PendingHead, Pool, PoolConfig, decode_submission};
use foreseal_primitives::{ChainSpec, Flashblock};
use foreseal_state::{NoBlockHashes, State, StateReader};
use foreseal_testkit::{Contract, Fees, Wallet, erc20_balance_slot, erc20_transfer, test_genesis};

/// Returns the address of an account without a key.
#[must_use]
pub fn keyless_address(index: u64) -> Address {
    Address::from_word(keccak256(index.to_be_bytes()))
}

struct StateHead(State);

impl PendingHead for StateHead {
    fn state(&self) -> &dyn StateReader {
        &self.0
    }

    fn is_preconfirmed(&self, _: &B256) -> bool {
        false
    }
}

/// An open block on a genesis whose accounts all have ether and tokens. A block is a value, so the same step can
/// be made from it any number of times.
#[derive(Debug)]
pub struct TokenChain {
    wallets: Vec<Wallet>,
    accounts: u64,
    /// Chain of the block.
    pub spec: Arc<ChainSpec>,
    /// Block without transactions, after its opening step.
    pub open: PendingBlock,
}

impl TokenChain {
    /// Number of accounts that send transfers.
    pub const SENDERS: u64 = 5_000;

    /// Opens a block on a genesis of this many accounts.
    ///
    /// # Panics
    ///
    /// Panics if `accounts` is at most [`Self::SENDERS`].
    #[must_use]
    pub fn new(accounts: u64) -> Self {
        assert!(accounts > Self::SENDERS, "transfers need recipients");
        let wallets = Wallet::some(Self::SENDERS);
        let spec = Arc::new(genesis_of(accounts, &wallets));
        let state = State::from_genesis(spec.genesis());
        let open = open_block(&spec, &state);
        Self { wallets, accounts, spec, open }
    }

    /// Returns a pool of this many transfers of tokens to different accounts.
    ///
    /// # Panics
    ///
    /// Panics if a transfer is rejected.
    #[must_use]
    pub fn pool(&self, transfers: u64) -> Pool {
        let pool = Pool::new(PoolConfig::default());
        let rules = pool.rules(&self.spec, self.open.header());
        let head = Arc::new(StateHead(self.open.state().clone()));
        let token = Contract::Erc20.address();
        for (index, wallet) in (0..transfers).zip(self.wallets.iter().cycle()) {
            let to = keyless_address(Self::SENDERS + index * 7919 % (self.accounts - Self::SENDERS));
            let data = erc20_transfer(to, U256::from(1));
            let nonce = index / Self::SENDERS;
            let raw = wallet.eip1559(nonce, token.into(), U256::ZERO, 100_000, data, Fees::default());
            let submission = decode_submission(&raw, &rules).expect("it is valid");
            pool.add(submission, || head.clone()).expect("it is admitted");
        }
        pool
    }

    /// Makes a step of all transactions of the pool.
    ///
    /// # Panics
    ///
    /// Panics if no step was made.
    #[must_use]
    pub fn step(&self, pool: &Pool) -> (PendingBlock, Flashblock) {
        let mut best = pool.best(self.open.header().base_fee_per_gas.unwrap_or(0), 1);
        let made = self.open.step(&mut best, &NoBlockHashes, &mut || true).expect("it executes");
        made.step.expect("a step")
    }

    /// Opens an empty journal in a temporary folder of the real disk.
    ///
    /// # Panics
    ///
    /// Panics if the disk fails.
    #[must_use]
    pub fn journal(&self) -> (tempfile::TempDir, LocalJournal) {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let identity = Identity { chain_id: self.spec.chain_id(), genesis: self.open.header().parent_hash };
        let options = JournalOptions { identity, segment_bytes: 256 << 20, entropy: [7; 32] };
        let opened = LocalJournal::open(folder.path(), Arc::new(RealDisk), options);
        (folder, opened.expect("an empty journal opens").0)
    }
}

fn genesis_of(accounts: u64, wallets: &[Wallet]) -> ChainSpec {
    let mut genesis = test_genesis(wallets);
    let tokens = genesis.alloc.get_mut(&Contract::Erc20.address()).expect("the test genesis has it");
    let storage = tokens.storage.get_or_insert_default();
    for index in TokenChain::SENDERS..accounts {
        storage.insert(erc20_balance_slot(keyless_address(index)), U256::from(1_000_000).into());
    }
    for index in TokenChain::SENDERS..accounts {
        genesis.alloc.entry(keyless_address(index)).or_default().balance = U256::from(1_000_000_000_000_u64);
    }
    ChainSpec::new(genesis).expect("a development genesis is supported")
}

fn open_block(spec: &Arc<ChainSpec>, state: &State) -> PendingBlock {
    let header = spec.genesis_header(state.root());
    let opening = NextBlockAttributes {
        merged: true,
        timestamp: 2,
        mix_hash: B256::ZERO,
        beneficiary: Address::repeat_byte(9),
        gas_limit: header.gas_limit,
        exact_gas_limit: None,
        extra_data: Bytes::new(),
        base_fee: None,
        parent_beacon_block_root: B256::ZERO,
        withdrawals: Vec::new(),
        transactions: Vec::new(),
    };
    let parent = ParentBlock { header: &header, hash: header.hash_slow(), state };
    PendingBlock::open(spec, parent, &opening, &NoBlockHashes).expect("a block can be opened").0
}
