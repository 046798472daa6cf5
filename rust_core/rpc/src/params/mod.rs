//! Positional parameters, parsed from raw JSON. Each error names the invalid argument.

pub mod argument;
pub mod block;
pub mod call_object;
pub mod development;
pub mod filter;
pub mod hex;
pub mod invalid;
pub mod options;
pub mod overrides;
pub mod payload;
pub mod positional;
pub mod simulation;
pub mod storage;
pub mod subscription;
#[cfg(test)]
pub mod tests;
pub mod trace;
pub mod typed_data;
pub mod value;
