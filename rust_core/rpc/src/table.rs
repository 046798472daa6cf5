//! The method table: one row a method, its rows kept in the file of its family.

use std::{collections::HashMap, sync::LazyLock};

use crate::{
    Context, Error, block_parts, blocks, calls, chain, fees, logs, params::Params, raw, state, submit,
    transactions,
};

#[cfg(test)]
mod wrong;
#[cfg(test)]
pub use wrong::wrong_values;

/// Whether a method may run on the thread that received the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cost {
    /// Takes under about 50 us: runs in place.
    Inline,
    /// May take longer: belongs on another thread.
    Threaded,
}

/// What a method does with its parameters. The answer is JSON.
pub type Run = fn(&Context<'_>, &mut Params<'_>) -> Result<Vec<u8>, Error>;

/// A row of the table.
#[derive(Debug)]
pub struct Method {
    pub name: &'static str,
    pub cost: Cost,
    /// In the order given; required ones first.
    pub arguments: &'static [Argument],
    pub(crate) run: Run,
}

impl Method {
    pub(crate) const fn inline(name: &'static str, arguments: &'static [Argument], run: Run) -> Self {
        Self { name, cost: Cost::Inline, arguments, run }
    }

    pub(crate) const fn threaded(name: &'static str, arguments: &'static [Argument], run: Run) -> Self {
        Self { name, cost: Cost::Threaded, arguments, run }
    }
}

/// All methods by family.
const FAMILIES: &[&[Method]] = &[
    block_parts::METHODS,
    blocks::METHODS,
    calls::METHODS,
    chain::METHODS,
    fees::METHODS,
    logs::METHODS,
    raw::METHODS,
    state::METHODS,
    submit::METHODS,
    transactions::METHODS,
];

static BY_NAME: LazyLock<HashMap<&'static str, &'static Method>> =
    LazyLock::new(|| methods().map(|method| (method.name, method)).collect());

/// All methods.
pub fn methods() -> impl Iterator<Item = &'static Method> {
    FAMILIES.iter().copied().flatten()
}

/// The method with this name.
pub fn method(name: &str) -> Option<&'static Method> {
    BY_NAME.get(name).copied()
}

/// What an argument takes; names the ways in which it can be wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Address,
    /// A block tag, hash or EIP-1898 object.
    Block,
    Boolean,
    /// A call object.
    Call,
    /// Bytes of any length.
    Data,
    Filter,
    /// 32 bytes.
    Hash,
    Percentiles,
    /// At most 64 bits.
    Quantity,
    /// A storage position.
    Slot,
}

/// A positional parameter of a method.
#[derive(Clone, Copy, Debug)]
pub struct Argument {
    pub name: &'static str,
    pub kind: Kind,
    pub required: bool,
}

impl Argument {
    /// An argument that must be given.
    pub const fn required(name: &'static str, kind: Kind) -> Self {
        Self { name, kind, required: true }
    }

    /// An argument that may be left out or `null`.
    pub const fn optional(name: &'static str, kind: Kind) -> Self {
        Self { name, kind, required: false }
    }
}
