//! Single-purpose contracts at fixed addresses in the test genesis.

use alloy_primitives::{Address, B256, Bytes, U256, keccak256};

use crate::assemble;

/// A contract of the test genesis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contract {
    /// Adds one to slot 0.
    Counter,
    /// Emits a log with two topics (0xaa and the first word of calldata) whose data is the caller.
    Logger,
    /// Reverts with `Error("no")`.
    Reverter,
    /// Self-destructs in favour of the caller.
    SelfDestructor,
    /// Stores timestamp, number and prevrandao in slots 0 to 2.
    Environment,
    /// Has `transfer(address,uint256)` and `balanceOf(address)`, balances in the mapping at slot 0, and
    /// `Transfer` logs.
    Erc20,
    /// Executes INVALID and so uses all its gas.
    Waster,
}

impl Contract {
    /// All test contracts.
    pub const ALL: [Self; 7] = [
        Self::Counter,
        Self::Logger,
        Self::Reverter,
        Self::SelfDestructor,
        Self::Environment,
        Self::Erc20,
        Self::Waster,
    ];

    /// Returns the contract's address in the test genesis.
    pub fn address(self) -> Address {
        Address::repeat_byte(0xc0 | self as u8)
    }

    /// Returns the runtime code.
    pub fn code(self) -> Bytes {
        assemble(match self {
            Self::Counter => "PUSH0 SLOAD 0x01 ADD PUSH0 SSTORE STOP",
            Self::Logger => "CALLER PUSH0 MSTORE PUSH0 CALLDATALOAD 0xaa 0x20 PUSH0 LOG2 STOP",
            Self::Reverter => {
                "0x08c379a0 0xe0 SHL PUSH0 MSTORE 0x20 0x04 MSTORE 0x02 0x24 MSTORE
                 0x6e6f 0xf0 SHL 0x44 MSTORE 0x64 PUSH0 REVERT"
            }
            Self::SelfDestructor => "CALLER SELFDESTRUCT",
            Self::Environment => "TIMESTAMP PUSH0 SSTORE NUMBER 0x01 SSTORE PREVRANDAO 0x02 SSTORE STOP",
            Self::Erc20 => ERC20,
            Self::Waster => "INVALID",
        })
    }
}

const ERC20: &str = "
    PUSH0 CALLDATALOAD 0xe0 SHR
    DUP1 0xa9059cbb EQ @transfer JUMPI
    0x70a08231 EQ @balance JUMPI
    PUSH0 PUSH0 REVERT
    transfer: POP
        CALLER PUSH0 MSTORE 0x40 PUSH0 KECCAK256 DUP1 SLOAD 0x24 CALLDATALOAD
        DUP2 DUP2 GT @short JUMPI
        SWAP1 DUP2 SWAP1 SUB SWAP1 SWAP2 SSTORE
        0x04 CALLDATALOAD PUSH0 MSTORE 0x40 PUSH0 KECCAK256 DUP1 SLOAD DUP3 ADD SWAP1 SSTORE
        PUSH0 MSTORE
        0x04 CALLDATALOAD CALLER
        0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef 0x20 PUSH0 LOG3
        0x01 PUSH0 MSTORE 0x20 PUSH0 RETURN
    balance:
        0x04 CALLDATALOAD PUSH0 MSTORE 0x40 PUSH0 KECCAK256 SLOAD PUSH0 MSTORE 0x20 PUSH0 RETURN
    short: PUSH0 PUSH0 REVERT";

/// Returns the calldata of an ERC-20 `transfer`.
pub fn erc20_transfer(to: Address, amount: U256) -> Bytes {
    let mut data = vec![0xa9, 0x05, 0x9c, 0xbb];
    data.extend(to.into_word());
    data.extend(amount.to_be_bytes::<32>());
    data.into()
}

/// Returns the storage slot of `owner`'s balance in [`Contract::Erc20`].
pub fn erc20_balance_slot(owner: Address) -> B256 {
    keccak256([owner.into_word(), B256::ZERO].concat())
}
