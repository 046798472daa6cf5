//! What calls, estimates, access lists and traces of calls have in common: a request, where it executes, and what it sets
//! there.

use alloy_consensus::Header;
use alloy_primitives::B256;
use foreseal_evm::{BlockOverrides, CallRequest, Environment, Overlay, StateOverrides};
use foreseal_node::{BlockId, View};
use foreseal_state::{BlockHashes, StateError, StateReader};

use crate::{
    Context, Error,
    params::{CallBlock, CallObject, Params, Reason},
};

/// A request to execute, read from the parameters of a method.
#[derive(Debug)]
pub struct Question {
    pub request: CallRequest,
    pub block: BlockId,
    pub state: StateOverrides,
    pub overrides: BlockOverrides,
}

impl Question {
    /// Reads the call object and the block.
    pub fn read(context: &Context<'_>, params: &mut Params<'_>) -> Result<Self, Error> {
        let request = call_object(context, params)?.into();
        let block = params.optional()?.unwrap_or(BlockId::Latest);
        Ok(Self { request, block, state: StateOverrides::default(), overrides: BlockOverrides::default() })
    }

    /// Reads state overrides, the next argument.
    pub fn with_state(mut self, params: &mut Params<'_>) -> Result<Self, Error> {
        self.state = params.optional()?.unwrap_or_default();
        Ok(self)
    }

    /// Reads block overrides, the next argument.
    pub fn with_block(mut self, params: &mut Params<'_>) -> Result<Self, Error> {
        let CallBlock(overrides) = params.optional()?.unwrap_or_default();
        self.overrides = overrides;
        Ok(self)
    }

    /// Executes in the environment that is asked for.
    pub fn execute<T, E: Into<Error>>(
        &self,
        context: &Context<'_>,
        run: impl FnOnce(&Environment<'_>, &CallRequest) -> Result<T, E>,
    ) -> Result<T, Error> {
        let view = context.view()?;
        let at = context.moment(view, self.block)?;
        self.execute_on(view, at.header(), at.state(), run)
    }

    /// Executes in the block of `header`, on a state that may be another than the one after the block.
    pub fn execute_on<T, E: Into<Error>>(
        &self,
        view: &View,
        header: &Header,
        state: &dyn StateReader,
        run: impl FnOnce(&Environment<'_>, &CallRequest) -> Result<T, E>,
    ) -> Result<T, Error> {
        let ancestors = Ancestors { hashes: view, below: header.number };
        let header = self.overrides.apply(header);
        let overridden = self.state.resolve(state, view.spec().fork(&header))?;
        let overlay = Overlay::new(state, &overridden.diff);
        let state: &dyn StateReader = if overridden.diff.is_empty() { state } else { &overlay };
        let environment = Environment {
            blob_base_fee: self.overrides.blob_base_fee,
            precompiles: overridden.precompiles,
            ..Environment::new(view.spec(), state, &ancestors, &header)
        };
        run(&environment, &self.request).map_err(Into::into)
    }
}

/// Reads the call object; a chain id in it must be this chain's.
pub fn call_object(context: &Context<'_>, params: &mut Params<'_>) -> Result<CallObject, Error> {
    let object: CallObject = params.required()?;
    let want = context.node.spec().chain_id();
    if object.chain_id.is_some_and(|id| id != want) {
        return Err(params.wrong("chainId", Reason::ChainId { want }));
    }
    Ok(object)
}

/// Hashes of a block's ancestors alone: with another number set, the block would otherwise see those after it.
struct Ancestors<'a> {
    hashes: &'a dyn BlockHashes,
    below: u64,
}

impl BlockHashes for Ancestors<'_> {
    fn block_hash(&self, number: u64) -> Result<Option<B256>, StateError> {
        if number < self.below { self.hashes.block_hash(number) } else { Ok(None) }
    }
}
