// Verification of Merkle-Patricia proofs.

import { keccak } from './keccak.js';
import { rlpDecode } from './rlp.js';
import { ValueError, equalBytes } from './values.js';

/** @typedef {import('./rlp.js').RlpItem} RlpItem */
/** @typedef {{hash: Uint8Array} | {inline: RlpItem} | {value: Uint8Array | null}} Next */

/**
 * Returns the value that the proof shows for the key, or null if it shows that the trie has no such key.
 * @param {Uint8Array} root
 * @param {Uint8Array} key
 * @param {Uint8Array[]} proof RLP of the nodes from the root towards the key
 * @returns {Uint8Array | null}
 */
export function verifyProof(root, key, proof) {
  const path = [...key].flatMap((byte) => [byte >> 4, byte & 15]);
  /** @type {Next} */
  let next = { hash: root };
  let used = 0;
  for (;;) {
    if ('value' in next) {
      const extra = proof.length - used;
      if (extra > 0) throw new ValueError(`${extra} nodes follow the one that decides the key`);
      return next.value;
    }
    /** @type {RlpItem} */
    let node;
    if ('hash' in next) {
      const encoded = proof[used];
      if (encoded === undefined) throw new ValueError('it ends before the key is decided');
      if (!equalBytes(keccak(encoded), next.hash)) {
        throw new ValueError(`node ${used} does not have the hash that leads to it`);
      }
      node = rlpDecode(encoded);
      used += 1;
    } else {
      node = next.inline;
    }
    next = follow(node, path);
  }
}

/**
 * Follows the path through a node, and removes the nibbles that the node consumes.
 * @param {RlpItem} node
 * @param {number[]} path
 * @returns {Next}
 */
function follow(node, path) {
  if (!Array.isArray(node)) throw new ValueError('a node is not a list');
  if (node.length === 17) {
    const nibble = path.shift();
    if (nibble !== undefined) return child(node[nibble]);
    const value = text(node[16]);
    return { value: value.length ? value : null };
  }
  if (node.length !== 2) throw new ValueError('a node has neither 2 nor 17 items');
  const { isLeaf, nibbles } = hexPrefix(text(node[0]));
  const follows = nibbles.every((nibble, index) => nibble === path[index]);
  if (isLeaf) return { value: follows && nibbles.length === path.length ? text(node[1]) : null };
  if (!follows) return { value: null };
  path.splice(0, nibbles.length);
  return child(node[1]);
}

/** @param {RlpItem | undefined} item @returns {Next} */
function child(item) {
  if (Array.isArray(item)) return { inline: item };
  const hash = text(item);
  if (hash.length === 0) return { value: null };
  if (hash.length !== 32) throw new ValueError('a reference to a node does not have 32 bytes');
  return { hash };
}

/** @param {RlpItem | undefined} item */
function text(item) {
  if (!(item instanceof Uint8Array)) throw new ValueError('a node has a list in place of bytes');
  return item;
}

/** @param {Uint8Array} encoded */
function hexPrefix(encoded) {
  const [first, ...rest] = [...encoded].flatMap((byte) => [byte >> 4, byte & 15]);
  if (first === undefined || first > 3) throw new ValueError('a node has an invalid path');
  const isOdd = (first & 1) === 1;
  if (!isOdd && rest[0] !== 0) throw new ValueError('a node has an invalid path');
  return { isLeaf: first >= 2, nibbles: isOdd ? rest : rest.slice(1) };
}
