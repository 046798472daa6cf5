//! Position of a traced transaction, and names of its call frames.

use alloy_primitives::B256;
use foreseal_evm::FrameKind;

/// Position of a traced transaction; the default for a call.
#[derive(Clone, Copy, Debug, Default)]
pub struct TracePosition {
    pub block_hash: Option<B256>,
    pub block_number: u64,
    pub hash: Option<B256>,
    pub index: u64,
}

/// Returns the name of the opcode that opens a frame of this kind.
pub fn kind_name(kind: FrameKind) -> &'static str {
    match kind {
        FrameKind::Call => "CALL",
        FrameKind::StaticCall => "STATICCALL",
        FrameKind::DelegateCall => "DELEGATECALL",
        FrameKind::CallCode => "CALLCODE",
        FrameKind::Create => "CREATE",
        FrameKind::Create2 => "CREATE2",
        FrameKind::SelfDestruct => "SELFDESTRUCT",
    }
}
