// Payouts and splits from a CSV file. Every problem has its line; nothing is sent from a file with one.

import { checksumAddress } from '../lib/address.js';
import { isAddress } from '../lib/values.js';
import { parseAmount } from './shown.js';

/** @typedef {{line: number, message: string}} Problem */
/** @typedef {{line: number, recipient: string, amount: bigint}} Leg `amount` is in smallest units, or basis points */

export const MAX_RECIPIENTS = 100;
export const BASIS_POINTS = 10_000n;
/** Maximum size of a file; 100 lines need much less. */
export const MAX_BYTES = 64 * 1024;

/**
 * Returns the cells of a CSV text by line (RFC 4180, without line breaks in cells). Commas and semicolons
 * separate cells.
 * @param {string} text
 * @returns {{line: number, cells: string[]}[]}
 */
export function parseCsv(text) {
  const lines = text.replace(/^\ufeff/, '').split(/\r\n|\r|\n/);
  return lines.flatMap((line, index) => {
    if (line.trim() === '') return [];
    const cells = [...line.matchAll(/(?:^|[,;])\s*(?:"((?:[^"]|"")*)"|([^,;]*))/g)].map(
      ([, quoted, plain = '']) => (quoted === undefined ? plain : quoted.replaceAll('""', '"')).trim());
    return [{ line: index + 1, cells }];
  });
}

/**
 * @param {string} cell
 * @returns {string | null} the message of a problem
 */
function recipientProblem(cell) {
  if (!isAddress(cell)) return 'the recipient must be an address: 0x and 40 hex digits';
  const isMixed = /[a-f]/.test(cell.slice(2)) && /[A-F]/.test(cell);
  if (isMixed && checksumAddress(cell) !== cell) return 'the checksum of the recipient is wrong: a digit was changed';
  return /^0x0{40}$/.test(cell) ? 'the recipient must not be the zero address' : null;
}

/**
 * Returns the recipients in a file with the columns recipient and amount, or recipient and basis points.
 * @param {string} text
 * @param {{decimals: number, isSplit: boolean}} options
 * @returns {{legs: Leg[], problems: Problem[]}}
 */
export function parseRecipients(text, { decimals, isSplit }) {
  const rows = parseCsv(text);
  // A heading has no address in its first cell, and names its column.
  if (/^(recipient|address|account|to)$/i.test(rows[0]?.cells[0] ?? '')) rows.shift();
  /** @type {Leg[]} */
  const legs = [];
  /** @type {Problem[]} */
  const problems = [];
  for (const { line, cells } of rows) {
    const [recipient = '', value = ''] = cells;
    const shares = /^\d{1,5}$/.test(value) ? BigInt(value) : null;
    const amount = isSplit ? shares : parseAmount(value, decimals);
    const isValid = amount !== null && (!isSplit || amount <= BASIS_POINTS);
    const wanted = isSplit ? 'the share must be 0 to 10000 basis points' : 'the amount must be a positive number such as 12.50';
    const found = cells.length !== 2 ? 'the line must have two cells: recipient and value'
      : recipientProblem(recipient) ?? (isValid ? null : wanted);
    if (found !== null) problems.push({ line, message: found });
    else if (amount !== null) legs.push({ line, recipient: checksumAddress(recipient), amount });
  }
  const last = rows[rows.length - 1]?.line ?? 1;
  if (rows.length === 0) problems.push({ line: 1, message: 'the file has no recipients' });
  if (rows.length > MAX_RECIPIENTS) problems.push({ line: last, message: `the file has ${rows.length} recipients, at most ${MAX_RECIPIENTS} are possible` });
  const sum = legs.reduce((total, leg) => total + leg.amount, 0n);
  if (isSplit && problems.length === 0 && sum !== BASIS_POINTS) problems.push({ line: last, message: `the shares sum to ${sum} basis points, not 10000` });
  return { legs, problems };
}

/**
 * Returns the line that an error of the service is about; null if it is about none.
 * @param {{argument: string | null, message: string}} error
 * @param {readonly Leg[]} legs
 */
export function lineOfError({ argument, message }, legs) {
  const index = /^(?:recipients|shares)\[(\d+)\]/.exec(argument ?? '')?.[1];
  if (index !== undefined) return legs[Number(index)]?.line ?? null;
  return legs.find(({ recipient }) => message.includes(recipient))?.line ?? null;
}
