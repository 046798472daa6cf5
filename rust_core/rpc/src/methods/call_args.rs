//! Common part of calls, estimates, access lists and call traces: the request, its block and its overrides.

use alloy_consensus::Header;
use alloy_primitives::B256;
use foreseal_chain::{BlockId, View};
use foreseal_evm::{BlockOverrides, CallRequest, Environment, PrecompileRules, StateOverlay, StateOverrides};
use foreseal_state::{BlockHashes, StateError, StateReader};

use crate::{
    context::call_context::Context,
    errors::error::Error,
    params::{call_object::CallObject, invalid::Reason, overrides::CallBlock, positional::Params},
};

/// Request to execute, parsed from the parameters of a method.
#[derive(Clone, Debug)]
pub struct CallArgs {
    pub request: CallRequest,
    pub block: BlockId,
    pub state: StateOverrides,
    pub overrides: BlockOverrides,
}

impl CallArgs {
    /// Returns a request at `latest`, without overrides.
    pub fn new(request: CallRequest) -> Self {
        let (state, overrides) = (StateOverrides::default(), BlockOverrides::default());
        Self { request, block: BlockId::Latest, state, overrides }
    }

    /// Reads the call object and the block.
    pub fn read(context: &Context<'_>, params: &mut Params<'_>) -> Result<Self, Error> {
        let request = call_object(context, params)?.into();
        Ok(Self { block: params.block_or_latest()?, ..Self::new(request) })
    }

    /// Reads the state overrides from the next argument.
    pub fn with_state(mut self, params: &mut Params<'_>) -> Result<Self, Error> {
        self.state = params.optional()?.unwrap_or_default();
        Ok(self)
    }

    /// Reads the block overrides from the next argument.
    pub fn with_block(mut self, params: &mut Params<'_>) -> Result<Self, Error> {
        let CallBlock(overrides) = params.optional()?.unwrap_or_default();
        self.overrides = overrides;
        Ok(self)
    }

    /// Executes the request in the requested environment.
    pub fn execute<T, E: Into<Error>>(
        &self,
        context: &Context<'_>,
        run: impl FnOnce(&Environment<'_>, &CallRequest) -> Result<T, E>,
    ) -> Result<T, Error> {
        let view = context.view()?;
        let at = context.header_and_state(view, self.block)?;
        self.execute_on(view, at.header(), at.state(), run)
    }

    /// Executes the request in the block of `header`, on a state that need not be the one after the block.
    pub fn execute_on<T, E: Into<Error>>(
        &self,
        view: &View,
        header: &Header,
        state: &dyn StateReader,
        run: impl FnOnce(&Environment<'_>, &CallRequest) -> Result<T, E>,
    ) -> Result<T, Error> {
        let ancestors = AncestorHashes { hashes: view, below: header.number };
        let header = self.overrides.apply(header);
        let overridden = self.state.resolve(state, PrecompileRules::new(view.spec(), &header))?;
        let overlay = StateOverlay::new(state, &overridden.diff);
        let state: &dyn StateReader = if overridden.diff.is_empty() { state } else { &overlay };
        let environment = Environment {
            blob_base_fee: self.overrides.blob_base_fee,
            precompiles: overridden.precompiles,
            ..Environment::new(view.spec(), state, &ancestors, &header)
        };
        run(&environment, &self.request).map_err(Into::into)
    }
}

/// Reads the call object. Its chain id, if present, must be that of this chain.
pub fn call_object(context: &Context<'_>, params: &mut Params<'_>) -> Result<CallObject, Error> {
    let object: CallObject = params.required()?;
    let want = context.node.spec().chain_id();
    if object.chain_id.is_some_and(|id| id != want) {
        return Err(params.wrong("chainId", Reason::ChainId { want }).into());
    }
    Ok(object)
}

/// Hashes of a block's ancestors only. With an overridden block number, `BLOCKHASH` would otherwise return
/// hashes of later blocks.
struct AncestorHashes<'a> {
    hashes: &'a dyn BlockHashes,
    below: u64,
}

impl BlockHashes for AncestorHashes<'_> {
    fn block_hash(&self, number: u64) -> Result<Option<B256>, StateError> {
        if number < self.below { self.hashes.block_hash(number) } else { Ok(None) }
    }
}
