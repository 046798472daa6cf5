//! Panics of methods.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::errors::error::Error;

/// Runs `work` and turns a panic into an error. Unwinding is safe: the node's state is behind immutable views
/// and locks that a panic releases.
pub fn guarded<T>(method: &'static str, work: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|payload| {
        let text = payload.downcast_ref::<&str>().copied();
        let reason = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str)).unwrap_or("");
        tracing::error!(method, reason, "method panicked");
        Err(Error::Panicked)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::errors::rpc_error::RpcError;

    #[test]
    fn a_panic_becomes_an_internal_error() {
        let result: Result<(), Error> = guarded("test", || panic!("on purpose"));
        let error = RpcError::from(result.unwrap_err());
        assert_eq!((error.code, error.message.as_str()), (-32603, "internal error"));
        assert_eq!(guarded("test", || Ok(5)).unwrap(), 5);
    }
}
