//! Reference model: every block re-executed from its bytes, every state in memory, and the expected results
//! of the methods.

use std::{collections::BTreeSet, sync::Arc};

use alloy_primitives::{Address, B256, U256, hex};
use foreseal_chain::{Chain, ExecutedBlock, FinalityDepth, View};
use foreseal_primitives::ChainSpec;
use foreseal_state::StateReader;
use foreseal_testkit::{Contract, Wallet, erc20_balance_slot};
use rand::{Rng, rngs::StdRng, seq::IndexedRandom};
use serde_json::{Value, json};

#[derive(Clone)]
pub struct Model {
    chain: Chain,
    blocks: Vec<Arc<ExecutedBlock>>,
    wallets: Vec<Address>,
    /// All accounts in use: wallets, contracts, and created contracts.
    accounts: BTreeSet<Address>,
}

/// Call, and its expected result in the form of [`normalized`].
#[derive(Debug)]
pub struct Query {
    pub method: &'static str,
    pub params: String,
    pub answer: Value,
}

/// Returns the part of a result that is compared.
pub fn normalized(method: &str, answer: &Value) -> Value {
    match method {
        "eth_getBlockByNumber" => json!([answer["hash"], answer["stateRoot"], answer["transactions"]]),
        "eth_getTransactionReceipt" => {
            json!([answer["blockHash"], answer["gasUsed"], log_list(&answer["logs"])])
        }
        "eth_getLogs" => log_list(answer),
        _ => answer.clone(),
    }
}

fn log_list(logs: &Value) -> Value {
    let log = |log: &Value| {
        json!([
            log["blockHash"],
            log["transactionHash"],
            log["logIndex"],
            log["address"],
            log["topics"],
            log["data"]
        ])
    };
    logs.as_array().expect("a list of logs").iter().map(log).collect()
}

fn quantity(number: impl Into<U256>) -> Value {
    json!(format!("{:#x}", number.into()))
}

impl Model {
    pub fn new(spec: Arc<ChainSpec>, wallets: &[Wallet]) -> Self {
        let chain = Chain::new(spec, FinalityDepth::default());
        let wallets: Vec<Address> = wallets.iter().map(|wallet| wallet.address).collect();
        let contracts = Contract::ALL.map(Contract::address);
        let accounts = wallets.iter().copied().chain(contracts).chain([Address::ZERO]).collect();
        Self { blocks: vec![chain.latest().clone()], chain, wallets, accounts }
    }

    /// Executes the sealed blocks of the view that the model lacks.
    pub fn follow(&mut self, view: &View) {
        while self.head() < view.latest().number() {
            let sealed = view.sealed(self.head() + 1).unwrap().unwrap();
            let mut bytes = Vec::new();
            sealed.block.encode(&mut bytes);
            self.chain.import(&bytes).unwrap();
            let block = self.chain.latest().clone();
            assert_eq!(block.block.hash, sealed.block.hash);
            let made = block.block.receipts.iter().filter_map(|receipt| receipt.contract_address);
            self.accounts.extend(made);
            self.blocks.push(block);
        }
    }

    pub fn head(&self) -> u64 {
        self.blocks.len() as u64 - 1
    }

    fn block(&self, height: u64) -> &ExecutedBlock {
        &self.blocks[usize::try_from(height).unwrap()]
    }

    pub fn hash(&self, height: u64) -> B256 {
        self.block(height).block.hash
    }

    pub fn transactions(&self, height: u64) -> Vec<B256> {
        self.block(height).block.transactions.iter().map(|transaction| transaction.hash()).collect()
    }

    /// Returns accounts with slots that may have values.
    fn some_accounts(&self, random: &mut StdRng) -> Vec<(Address, Vec<U256>)> {
        let balances = self.wallets.iter().map(|owner| erc20_balance_slot(*owner).into());
        let fixed = [
            (Contract::Erc20.address(), balances.chain([U256::from(5)]).collect()),
            (Contract::Counter.address(), vec![U256::ZERO]),
            (Contract::Environment.address(), (0..4).map(U256::from).collect()),
        ];
        let accounts: Vec<Address> = self.accounts.iter().copied().collect();
        let others = accounts.choose_multiple(random, 8).map(|address| (*address, vec![U256::ZERO]));
        fixed.into_iter().chain(others).chain([(Address::new(random.random()), vec![U256::ZERO])]).collect()
    }

    pub fn queries(&self, height: u64, random: &mut StdRng) -> Vec<Query> {
        let (block, tag) = (self.block(height), format!("{height:#x}"));
        let state = &block.state;
        let mut queries = Vec::new();
        let mut push = |method, params: Value, answer| {
            queries.push(Query { method, params: params.to_string(), answer });
        };
        for (address, slots) in self.some_accounts(random) {
            let account = state.account(&address).unwrap().unwrap_or_default();
            push("eth_getBalance", json!([address, tag]), quantity(account.balance));
            push("eth_getTransactionCount", json!([address, tag]), quantity(U256::from(account.nonce)));
            let code = state.code(&account.code_hash).unwrap().original_bytes();
            push("eth_getCode", json!([address, tag]), json!(hex::encode_prefixed(code)));
            for slot in slots {
                let value = B256::from(state.storage(&address, &slot).unwrap());
                push("eth_getStorageAt", json!([address, B256::from(slot), tag]), json!(value));
            }
        }
        for owner in &self.wallets {
            let token = Contract::Erc20.address();
            let data = [&[0x70, 0xa0, 0x82, 0x31], owner.into_word().as_slice()].concat();
            let balance = state.storage(&token, &erc20_balance_slot(*owner).into()).unwrap();
            let call = json!({"to": token, "data": hex::encode_prefixed(data)});
            push("eth_call", json!([call, tag]), json!(B256::from(balance)));
        }
        let header = &block.block.header;
        let hashes = self.transactions(height);
        push(
            "eth_getBlockByNumber",
            json!([tag, false]),
            json!([block.block.hash, header.state_root, hashes]),
        );
        for (index, receipt) in block.block.receipts.iter().enumerate() {
            let logs: Vec<Value> = self.logs(height, |log| log[1] == json!(hashes[index]));
            let answer = json!([block.block.hash, quantity(U256::from(receipt.gas_used)), logs]);
            push("eth_getTransactionReceipt", json!([hashes[index]]), answer);
        }
        queries
    }

    /// Returns parameters of `eth_getProof`, with the expected storage root, account nodes, and values and
    /// nodes of the slots.
    pub fn proofs(&self, height: u64, random: &mut StdRng) -> Vec<(String, Value)> {
        let proof = |(address, slots): (Address, Vec<U256>)| {
            let proof = self.block(height).state.prove_account(&address, &slots).unwrap();
            let slot = |slot: &foreseal_state::SlotProof| json!([quantity(slot.value), slot.nodes]);
            let proved: Vec<Value> = proof.slots.iter().map(slot).collect();
            let keys: Vec<B256> = slots.into_iter().map(B256::from).collect();
            let params = json!([address, keys, format!("{height:#x}")]).to_string();
            (params, json!([proof.storage_root, proof.nodes, proved]))
        };
        self.some_accounts(random).into_iter().map(proof).collect()
    }

    /// Returns the matching logs of a block in the form of [`normalized`].
    fn logs(&self, height: u64, wanted: impl Fn(&[Value; 6]) -> bool) -> Vec<Value> {
        let block = &self.block(height).block;
        let of_receipt = block.transactions.iter().zip(&block.receipts).flat_map(|(transaction, receipt)| {
            (receipt.first_log_index..).zip(&receipt.logs).map(|(index, log)| {
                let index = quantity(U256::from(index));
                let hashes = (json!(block.hash), json!(transaction.hash()));
                [hashes.0, hashes.1, index, json!(log.address), json!(log.topics()), json!(log.data.data)]
            })
        });
        of_receipt.filter(wanted).map(|log| json!(log)).collect()
    }

    /// Returns a random filter for `eth_getLogs` and its expected result.
    pub fn log_query(&self, random: &mut StdRng) -> (String, Value) {
        let from = random.random_range(0..=self.head());
        let to = random.random_range(from..=self.head());
        let mut filter = json!({"fromBlock": format!("{from:#x}"), "toBlock": format!("{to:#x}")});
        let address = random
            .random_bool(0.6)
            .then(|| [Contract::Erc20, Contract::Logger].choose(random).expect("there are two").address());
        let value =
            random.random_bool(0.6).then(|| self.wallets.choose(random).expect("a wallet").into_word());
        if let Some(address) = address {
            filter["address"] = json!(address);
        }
        if let Some(value) = value {
            filter["topics"] = json!([null, value]);
        }
        let wanted = |log: &[Value; 6]| {
            address.is_none_or(|address| log[3] == json!(address))
                && value.is_none_or(|value| log[4].get(1) == Some(&json!(value)))
        };
        let logs: Vec<Value> = (from..=to).flat_map(|height| self.logs(height, wanted)).collect();
        (json!([filter]).to_string(), json!(logs))
    }
}
