// Hashes and addresses that the page has already: those of the newest blocks, for a search by a part of one.

import { paths } from './paths.js';

/** @typedef {import('./chain.js').BlockEntry} BlockEntry */
/** @typedef {import('./search.js').SearchResult} SearchResult */
/** Beginning and end of a hash or an address, in lower case. @typedef {{begin: string, end: string}} HexPart */

/** Hex digits that a part needs, so that it does not match by accident. */
const MIN_DIGITS = 4;
const MAX_RESULTS = 20;
const PART = /^0x([0-9a-f]*)(?:(?:…|\.{2,3})([0-9a-f]*))?$/i;

/**
 * Returns the parts of a shortened hash or address such as `0x4105ea…5ffc` or `0x4105ea`; null for other texts.
 * @param {string} text
 * @returns {HexPart | null}
 */
export function parsePart(text) {
  const [, begin = '', end = ''] = PART.exec(text) ?? [];
  return begin.length + end.length < MIN_DIGITS ? null : { begin: `0x${begin.toLowerCase()}`, end: end.toLowerCase() };
}

/**
 * Returns the pages of the hashes and addresses in blocks that have these parts.
 * @param {readonly BlockEntry[]} blocks
 * @param {HexPart} part
 * @returns {SearchResult[]}
 */
export function matchPart(blocks, { begin, end }) {
  /** @type {Map<string, SearchResult>} */
  const found = new Map();
  /** @param {string | null} value @param {string} label @param {(value: string) => string} path */
  const add = (value, label, path) => {
    const text = value?.toLowerCase() ?? '';
    if (value === null || found.size >= MAX_RESULTS || !text.startsWith(begin) || !text.endsWith(end)) return;
    if (!found.has(text)) found.set(text, { label: `${label} ${value}`, path: path(value) });
  };
  for (const { header, number, steps, isSealed } of blocks) {
    if (isSealed) add(header['hash'], `Block ${number}:`, paths.block);
    for (const step of steps.filter((one) => !one.isWithdrawn)) {
      add(step.hash, `Step ${step.index} of block ${number}:`, paths.block);
      for (const { hash, from, to } of step.transactions) {
        add(hash, 'Transaction', paths.transaction);
        add(from, 'Address', paths.address);
        add(to, 'Address', paths.address);
      }
    }
  }
  return [...found.values()];
}
