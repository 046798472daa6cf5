//! Dump of the state, in the form of anvil, and its restoration.

use std::collections::BTreeMap;

use alloy_primitives::{Address, Bytes, U256};
use foreseal_node::DumpedAccount;
use serde::Deserialize;

use crate::{
    context::call_context::Context,
    errors::{development_error::DevelopmentError, error::Error},
    json::{hex::write_data, object::Object},
    methods::method::{Access, Method},
    params::{
        argument::{Argument, Kind},
        positional::Params,
    },
};

const DEVELOPMENT: Access = Access::Development;
const HISTORY: Argument = Argument::optional("preserveHistoricalStates", Kind::Boolean).or("false");
const STATE: Argument = Argument::required("state", Kind::Data);

pub const METHODS: &[Method] = &[
    Method::worker_pool("anvil_dumpState", &[HISTORY], dump_state).with_access(DEVELOPMENT),
    Method::worker_pool("anvil_loadState", &[STATE], load_state).with_access(DEVELOPMENT),
];

/// First bytes of a gzip file.
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// The part of anvil's dump that is loaded.
#[derive(Deserialize)]
struct StateJson {
    accounts: BTreeMap<Address, AccountJson>,
}

#[derive(Deserialize)]
struct AccountJson {
    nonce: u64,
    balance: U256,
    code: Bytes,
    #[serde(default)]
    storage: BTreeMap<U256, U256>,
}

impl From<AccountJson> for DumpedAccount {
    fn from(AccountJson { nonce, balance, code, storage }: AccountJson) -> Self {
        Self { nonce, balance, code, storage }
    }
}

/// Returns the accounts of the block being built as JSON, in hex. Blocks and historical states are not included.
fn dump_state(context: &Context<'_>, params: &mut Params<'_>) -> Result<Vec<u8>, Error> {
    let _: Option<bool> = params.optional()?;
    let accounts =
        context.node.control(|writer| Ok((writer.development().dump_accounts()?, writer.height())));
    let (accounts, height) = accounts?;
    let mut json = Vec::new();
    let mut object = Object::open(&mut json);
    object.quantity("best_block_number", height).json("blocks", "[]").json("transactions", "[]");
    let mut list = Object::open(object.name("accounts"));
    for (address, account) in &accounts {
        write_account(list.name(&address.to_string()), account);
    }
    list.close();
    object.close();
    let mut out = Vec::with_capacity(2 * json.len() + 4);
    write_data(&mut out, &json);
    Ok(out)
}

fn write_account(out: &mut Vec<u8>, account: &DumpedAccount) {
    let mut object = Object::open(out);
    object
        .json("nonce", &account.nonce.to_string())
        .quantity("balance", account.balance)
        .data("code", &account.code);
    let mut storage = Object::open(object.name("storage"));
    for (slot, value) in &account.storage {
        storage.data(&format!("{slot:#066x}"), value.to_be_bytes::<32>());
    }
    storage.close();
    object.close();
}

/// Writes the accounts of a dump to the block being built; other accounts stay.
fn load_state(context: &Context<'_>, params: &mut Params<'_>) -> Result<Vec<u8>, Error> {
    let state: Bytes = params.required()?;
    if state.starts_with(&GZIP) {
        return Err(DevelopmentError::CompressedState.into());
    }
    let state: StateJson =
        serde_json::from_slice(&state).map_err(|error| DevelopmentError::State(error.to_string()))?;
    let accounts = state.accounts.into_iter().map(|(address, account)| (address, account.into())).collect();
    context.node.develop(|development| development.load_accounts(&accounts))?;
    Ok(b"true".to_vec())
}
