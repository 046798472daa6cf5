//! Parameters of a call, read in the order of the arguments.

use foreseal_chain::BlockId;
use serde_json::value::RawValue;

use super::{
    argument::Argument,
    invalid::{Invalid, Param, ParamsError, Reason},
};

/// Parameters of a method, read in order. Their names come from the method's row in the table.
#[derive(Debug)]
pub struct Params<'a> {
    values: Vec<&'a RawValue>,
    arguments: &'static [Argument],
    next: usize,
}

impl<'a> Params<'a> {
    /// Splits `json` (an array, `null`, or empty) into the parameters of `method`.
    pub fn parse(
        json: &'a [u8],
        method: &'static str,
        arguments: &'static [Argument],
    ) -> Result<Self, ParamsError> {
        let values: Option<Vec<&RawValue>> = if json.is_empty() {
            None
        } else {
            serde_json::from_slice(json).map_err(|_| ParamsError::NotArray)?
        };
        let values = values.unwrap_or_default();
        if values.len() > arguments.len() {
            let max = arguments.len();
            return Err(ParamsError::TooMany { index: max, method, max });
        }
        Ok(Self { values, arguments, next: 0 })
    }

    /// Reads the next argument. Absent and `null` are errors.
    pub fn required<T: Param<'a>>(&mut self) -> Result<T, ParamsError> {
        let (index, name) = (self.next, self.name());
        self.optional()?.ok_or(ParamsError::Missing { index, name })
    }

    /// Reads the next argument; `None` if it is absent or `null`.
    pub fn optional<T: Param<'a>>(&mut self) -> Result<Option<T>, ParamsError> {
        let (index, name) = (self.next, self.name());
        self.next += 1;
        match self.values.get(index) {
            None => Ok(None),
            Some(raw) if raw.get() == "null" => Ok(None),
            Some(raw) => {
                T::read(raw).map(Some).map_err(|invalid| ParamsError::Invalid { index, name, invalid })
            }
        }
    }

    /// Reads the next argument as a block. Absent and `null` mean `latest`.
    pub fn block_or_latest(&mut self) -> Result<BlockId, ParamsError> {
        Ok(self.optional()?.unwrap_or(BlockId::Latest))
    }

    /// Returns an error for field `name` of the argument that was read last. For values that are invalid only
    /// in the context of the chain.
    pub fn wrong(&self, field: &str, reason: Reason) -> ParamsError {
        let index = self.next.saturating_sub(1);
        let name = self.arguments.get(index).map_or("", |argument| argument.name);
        ParamsError::Invalid { index, name, invalid: Invalid::from(reason).in_field(field) }
    }

    fn name(&self) -> &'static str {
        self.arguments.get(self.next).expect("a method reads only the arguments of its row").name
    }
}
