// Recognition of what a reader searches for.

import { isAddress, isHash } from '../lib/values.js';
import { paths } from './paths.js';

/** @typedef {import('../lib/rpc.js').RpcClient} RpcClient */
/** @typedef {{label: string, path: string}} SearchResult */

const NUMBER = /^#?(\d[\d ,_]*)$/;
const STEP = /^#?(\d+)\s*[./:]\s*(\d+)$/;
const HEX_NUMBER = /^0x[0-9a-f]{1,16}$/i;
const TAGS = ['latest', 'pending', 'safe', 'finalized', 'earliest'];

/**
 * Returns the page that a text names without a request to the node; null for hashes and other texts.
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
  if (HEX_NUMBER.test(text)) return { label: `Block ${Number(text)}`, path: paths.block(Number(text)) };
  return null;
}

/**
 * Returns the pages that match a text.
 * @param {RpcClient} rpc
 * @param {string} text
 * @param {AbortSignal} [signal]
 * @returns {Promise<SearchResult[]>}
 */
export async function findResults(rpc, text, signal) {
  const trimmed = text.trim();
  const direct = directResult(trimmed);
  if (direct) return [direct];
  const hash = /^[0-9a-f]{64}$/i.test(trimmed) ? `0x${trimmed}` : trimmed;
  if (!isHash(hash)) return [];
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
