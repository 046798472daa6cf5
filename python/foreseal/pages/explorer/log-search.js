// Fields of the log search, as text in the form and in the address of the page.

import { parseSignatures } from '../lib/abi/fragments.js';
import { topicOf } from '../lib/abi/interface.js';
import { parseAddress } from '../lib/address.js';
import { ValueError, isAddress, isHash } from '../lib/values.js';

export const FIELDS = /** @type {const} */ (['address', 'topic0', 'topic1', 'topic2', 'topic3', 'from', 'to', 'order']);
/** @typedef {Record<typeof FIELDS[number], string>} SearchText */
/**
 * @typedef {{address?: string[], topics: (string | null)[], from: number | null, to: number | null,
 *   isNewestFirst: boolean}} LogSearch
 */

/** Events that are searched for most, by name. */
export const COMMON_EVENTS = {
  'Transfer (ERC-20, ERC-721)': 'Transfer(address,address,uint256)',
  'Approval (ERC-20, ERC-721)': 'Approval(address,address,uint256)',
  'TransferSingle (ERC-1155)': 'TransferSingle(address,address,address,uint256,uint256)',
  'TransferBatch (ERC-1155)': 'TransferBatch(address,address,address,uint256[],uint256[])',
  'AuthorizationUsed (ERC-3009)': 'AuthorizationUsed(address,bytes32)',
};

const MAX_ADDRESSES = 20;

/** @param {URLSearchParams} query @returns {SearchText} */
export function textOfQuery(query) {
  return /** @type {SearchText} */ (Object.fromEntries(FIELDS.map((name) => [name, query.get(name) ?? ''])));
}

/** Error for a field of the search. */
export class FieldError extends Error {
  /** @override */
  name = 'FieldError';

  /** @param {string} field @param {string} message */
  constructor(field, message) {
    super(message);
    this.field = field;
  }
}

/**
 * Parses the fields.
 * @param {SearchText} text
 * @returns {LogSearch}
 */
export function parseSearch(text) {
  const addresses = text.address.split(/[\s,]+/).filter((part) => part !== '');
  if (addresses.length > MAX_ADDRESSES) throw new FieldError('address', `Write at most ${MAX_ADDRESSES} addresses.`);
  const topics = [parseEvent(text.topic0), ...([1, 2, 3].map((index) => parseTopic(index, text)))];
  while (topics.length > 0 && topics[topics.length - 1] === null) topics.pop();
  const [from, to] = [parseBlock('from', text.from), parseBlock('to', text.to)];
  if (from !== null && to !== null && from > to) throw new FieldError('to', 'The last block is before the first.');
  return {
    ...(addresses.length > 0 ? { address: addresses.map(addressField) } : {}),
    topics,
    from,
    to,
    isNewestFirst: text.order !== 'oldest',
  };
}

/** @param {string} text */
function addressField(text) {
  try {
    return parseAddress(text);
  } catch (error) {
    throw new FieldError('address', `${text.slice(0, 50)}: ${error instanceof ValueError ? error.message : 'invalid'}`);
  }
}

/** Parses the first topic: a topic, or the signature of an event. @param {string} text @returns {string | null} */
function parseEvent(text) {
  const trimmed = text.trim();
  if (trimmed === '') return null;
  if (isHash(trimmed)) return trimmed;
  try {
    const [fragment] = parseSignatures([trimmed.startsWith('event ') ? trimmed : `event ${trimmed}`]);
    if (fragment) return topicOf(fragment);
  } catch {
    // The error below names both forms.
  }
  throw new FieldError('topic0', 'Write an event such as Transfer(address,address,uint256), or 32 bytes of hex.');
}

/** Parses a topic: 32 bytes, an address, or a whole number. @param {number} index @param {SearchText} text */
function parseTopic(index, text) {
  const field = /** @type {'topic1'} */ (`topic${index}`);
  const trimmed = text[field].trim();
  if (trimmed === '') return null;
  if (isHash(trimmed)) return trimmed;
  if (isAddress(trimmed)) return `0x${trimmed.slice(2).toLowerCase().padStart(64, '0')}`;
  if (/^\d{1,78}$/.test(trimmed)) return `0x${BigInt(trimmed).toString(16).padStart(64, '0')}`;
  throw new FieldError(field, 'Write 32 bytes of hex, an address or a whole number.');
}

/** @param {string} field @param {string} text */
function parseBlock(field, text) {
  const trimmed = text.trim();
  if (trimmed === '') return null;
  if (!/^\d{1,15}$/.test(trimmed)) throw new FieldError(field, 'Write a block number.');
  return Number(trimmed);
}
