//! A minimal assembler that keeps test contracts readable.

use std::collections::HashMap;

use alloy_primitives::Bytes;

const OPCODES: &[(&str, u8)] = &[
    ("STOP", 0x00),
    ("ADD", 0x01),
    ("SUB", 0x03),
    ("LT", 0x10),
    ("GT", 0x11),
    ("EQ", 0x14),
    ("SHL", 0x1b),
    ("SHR", 0x1c),
    ("KECCAK256", 0x20),
    ("CALLER", 0x33),
    ("CALLVALUE", 0x34),
    ("CALLDATALOAD", 0x35),
    ("CALLDATASIZE", 0x36),
    ("TIMESTAMP", 0x42),
    ("NUMBER", 0x43),
    ("PREVRANDAO", 0x44),
    ("POP", 0x50),
    ("MLOAD", 0x51),
    ("MSTORE", 0x52),
    ("SLOAD", 0x54),
    ("SSTORE", 0x55),
    ("JUMP", 0x56),
    ("JUMPI", 0x57),
    ("JUMPDEST", 0x5b),
    ("PUSH0", 0x5f),
    ("DUP1", 0x80),
    ("DUP2", 0x81),
    ("DUP3", 0x82),
    ("SWAP1", 0x90),
    ("SWAP2", 0x91),
    ("LOG1", 0xa1),
    ("LOG2", 0xa2),
    ("LOG3", 0xa3),
    ("CREATE", 0xf0),
    ("CALL", 0xf1),
    ("RETURN", 0xf3),
    ("REVERT", 0xfd),
    ("INVALID", 0xfe),
    ("SELFDESTRUCT", 0xff),
];

/// Assembles words separated by white space: opcode names, `0x..` (pushed with the shortest PUSH that holds
/// its digits), `name:` (a jump destination) and `@name` (pushes its position).
///
/// # Panics
/// Panics on any other word.
pub fn assemble(source: &str) -> Bytes {
    let (mut code, mut labels, mut uses) = (Vec::new(), HashMap::new(), Vec::new());
    for token in source.split_whitespace() {
        if let Some(label) = token.strip_suffix(':') {
            labels.insert(label, code.len());
            code.push(0x5b);
        } else if let Some(label) = token.strip_prefix('@') {
            uses.push((label, code.len() + 1));
            code.extend([0x61, 0, 0]);
        } else if let Some(digits) = token.strip_prefix("0x") {
            let bytes = alloy_primitives::hex::decode(digits).expect("an even number of hex digits");
            code.push(0x5f + u8::try_from(bytes.len()).expect("at most 32 bytes"));
            code.extend(bytes);
        } else {
            let opcode = OPCODES.iter().find(|(name, _)| *name == token);
            code.push(opcode.unwrap_or_else(|| panic!("unknown opcode {token}")).1);
        }
    }
    for (label, position) in uses {
        let target = u16::try_from(labels[label]).expect("code below 64 KiB");
        code[position..position + 2].copy_from_slice(&target.to_be_bytes());
    }
    code.into()
}

/// Returns init code that deploys `runtime`.
///
/// # Panics
/// Panics if the runtime code is longer than 65,535 bytes.
pub fn deploy_code(runtime: &[u8]) -> Bytes {
    let length = u16::try_from(runtime.len()).expect("code below 64 KiB").to_be_bytes();
    let head = [0x61, length[0], length[1], 0x80, 0x60, 0x0a, 0x5f, 0x39, 0x5f, 0xf3];
    [head.as_slice(), runtime].concat().into()
}
