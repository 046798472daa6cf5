//! Files of blocks for `foreseal import`.

use alloy_rlp::{Decodable, Encodable};
use foreseal_chain::BlockReader;
use foreseal_primitives::BlockBytes;

use super::nothing;
use crate::{Memory, Target};

pub const TARGET: Target = Target {
    name: "imports",
    longest: 2048,
    memory: Memory { fixed: 1 << 14, each: 512 },
    prepare: nothing,
    run,
};

/// Checks that the reader splits a file at the boundaries of RLP, and that each block has one encoding.
fn run(input: &[u8]) {
    let mut blocks = BlockReader::new(input);
    let mut rest = input;
    while let Ok(Some(bytes)) = blocks.next_block() {
        let (block, after) = rest.split_at(bytes.len());
        assert_eq!(bytes, block);
        let header = alloy_rlp::Header::decode(&mut &*bytes).expect("it was cut by its header");
        assert_eq!(header.length_with_payload(), bytes.len());
        rest = after;
        let mut unread = &bytes[..];
        let Ok(block) = BlockBytes::decode(&mut unread) else { continue };
        assert!(unread.is_empty(), "a block is all of its list");
        let mut encoded = Vec::with_capacity(bytes.len());
        block.encode(&mut encoded);
        assert_eq!(block.length(), encoded.len());
        let again: BlockBytes = alloy_rlp::decode_exact(&encoded).expect("what was encoded decodes");
        assert_eq!(alloy_rlp::encode(again), encoded);
        assert_eq!(encoded, bytes, "a block has one encoding");
    }
}
