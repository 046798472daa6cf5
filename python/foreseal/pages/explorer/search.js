// Recognition of what a reader searches for.

import { isAddress, isHash, parseCount } from '../lib/values.js';
import { matchPart, parsePart } from './known-values.js';
import { paths } from './paths.js';

/** @typedef {import('../lib/rpc.js').RpcClient} RpcClient */
/** @typedef {import('./chain.js').BlockEntry} BlockEntry */
/** @typedef {{label: string, path: string}} SearchResult */

const NUMBER = /^#?(\d[\d ,_]*)$/;
const STEP = /^#?(\d+)\s*[./:]\s*(\d+)$/;
/** A quantity below 2^52: numbers of JavaScript are exact up to 2^53. */
const HEX_NUMBER = /^0x(0|[1-9a-f][0-9a-f]{0,12})$/i;
const TAGS = ['latest', 'pending', 'safe', 'finalized', 'earliest'];

/**
 * Returns the page that a text names without a request to the node; null for hashes, hex numbers and other texts.
 * @param {string} text
 * @returns {SearchResult | null}
 */
export function directResult(text) {
  const step = STEP.exec(text);
  if (step) return { label: `Block ${step[1]}, step ${step[2]}`, path: paths.step(Number(step[1]), Number(step[2])) };
  const number = NUMBER.exec(text);
  if (number) {
    const digits = /** @type {string} */ (number[1]).replace(/\D/g, '');
    return { label: `Block ${digits}`, path: paths.block(Number(digits)) };
  }
  if (TAGS.includes(text.toLowerCase())) return { label: `Block ${text}`, path: paths.block(text.toLowerCase()) };
  if (isAddress(text)) return { label: 'Address', path: paths.address(text) };
  return null;
}

/**
 * Returns the block with a hex number, unless the chain is shorter: then the text is a part of a hash or an address.
 * @param {RpcClient} rpc
 * @param {string} text
 * @param {AbortSignal | undefined} signal
 * @returns {Promise<SearchResult | null>}
 */
async function blockWithNumber(rpc, text, signal) {
  if (!HEX_NUMBER.test(text)) return null;
  // The block under construction follows the newest sealed one.
  const pending = parseCount(await rpc.call('eth_blockNumber', [], { signal })) + 1;
  const number = Number(text);
  return number <= pending ? { label: `Block ${number}`, path: paths.block(number) } : null;
}

/**
 * Returns the pages that match a text.
 * @param {RpcClient} rpc
 * @param {string} text
 * @param {readonly BlockEntry[]} blocks newest blocks, in which a part of a hash or an address is searched
 * @param {AbortSignal} [signal]
 * @returns {Promise<SearchResult[]>}
 */
export async function findResults(rpc, text, blocks, signal) {
  const trimmed = text.trim();
  const direct = directResult(trimmed);
  if (direct) return [direct];
  const hash = /^[0-9a-f]{64}$/i.test(trimmed) ? `0x${trimmed}` : trimmed;
  if (!isHash(hash)) {
    const block = await blockWithNumber(rpc, trimmed, signal);
    if (block) return [block];
    const part = parsePart(trimmed);
    return part === null ? [] : matchPart(blocks, part);
  }
  const [block, transaction, status] = await Promise.all([
    rpc.call('eth_getBlockByHash', [hash, false], { signal }),
    rpc.call('eth_getTransactionByHash', [hash], { signal }),
    rpc.call('foreseal_transactionStatus', [hash], { signal }),
  ]);
  const results = [];
  if (transaction || status?.status !== 'unknown') results.push({ label: 'Transaction', path: paths.transaction(hash) });
  if (block) results.push({ label: `Block or step of block ${Number(block.number)}`, path: paths.block(hash) });
  return results;
}
