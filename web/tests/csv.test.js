import assert from 'node:assert/strict';
import { test } from 'node:test';

import { lineOfError, MAX_RECIPIENTS, parseCsv, parseRecipients } from '../dashboard/csv.js';

const A = '0x90F79bf6EB2c4f870365E785982E1f101E93b906';
const B = '0x15d34AAf54267DB7D7c367839AAf71A00a2C6A65';

/** @param {string} text @param {boolean} [isSplit] */
const parse = (text, isSplit = false) => parseRecipients(text, { decimals: 6, isSplit });
/** @param {string} text @param {boolean} [isSplit] */
const problems = (text, isSplit = false) => parse(text, isSplit).problems.map(({ line, message }) => `${line}: ${message}`);

test('cells are separated by commas or semicolons, and may be quoted', () => {
  assert.deepEqual(parseCsv('\ufeffa,b\r\n\r\n "c;1" ; "d ""e"""\rf,\n'), [
    { line: 1, cells: ['a', 'b'] },
    { line: 3, cells: ['c;1', 'd "e"'] },
    { line: 4, cells: ['f', ''] },
  ]);
});

test('a payout has an amount for each recipient', () => {
  for (const text of [`recipient,amount\n${A},1.25\n${B},0.000001`, `${A};1.25\r\n${B.toLowerCase()};0.000001\r\n`]) {
    const { legs, problems: found } = parse(text);
    assert.deepEqual(found, []);
    assert.deepEqual(legs.map(({ recipient, amount }) => [recipient, amount]), [[A, 1_250_000n], [B, 1n]]);
  }
});

test('each problem has its line', () => {
  assert.deepEqual(problems(`to,amount\n0x12,1\n${A},1,2\n${A},0\n${A},1e3\n${A},0.0000001\n=cmd(),1\n0x${'0'.repeat(40)},1\n${A}`), [
    '2: the recipient must be an address: 0x and 40 hex digits',
    '3: the line must have two cells: recipient and value',
    '4: the amount must be a positive number such as 12.50',
    '5: the amount must be a positive number such as 12.50',
    '6: the amount must be a positive number such as 12.50',
    '7: the recipient must be an address: 0x and 40 hex digits',
    '8: the recipient must not be the zero address',
    '9: the line must have two cells: recipient and value',
  ]);
});

test('a changed digit of an address is found by its checksum', () => {
  assert.deepEqual(problems(`${A.replace('79b', '78b')},1`), ['1: the checksum of the recipient is wrong: a digit was changed']);
});

test('an empty file and one with too many recipients are rejected', () => {
  assert.deepEqual(problems(''), ['1: the file has no recipients']);
  assert.deepEqual(problems('recipient,amount\n'), ['1: the file has no recipients']);
  assert.deepEqual(problems(`${A},1\n`.repeat(MAX_RECIPIENTS)), []);
  assert.deepEqual(problems(`${A},1\n`.repeat(MAX_RECIPIENTS + 1)), [`101: the file has 101 recipients, at most ${MAX_RECIPIENTS} are possible`]);
});

test('the shares of a split sum to 10,000 basis points', () => {
  assert.deepEqual(parse(`recipient,share\n${A},7500\n${B},2500`, true).legs.map(({ amount }) => amount), [7_500n, 2_500n]);
  assert.deepEqual(problems(`${A},7500\n${B},2499`, true), ['2: the shares sum to 9999 basis points, not 10000']);
  assert.deepEqual(problems(`${A},10001\n${B},0.5`, true), [
    '1: the share must be 0 to 10000 basis points', '2: the share must be 0 to 10000 basis points',
  ]);
});

test('hostile text is read in linear time', () => {
  const { problems: found } = parse(`${'"'.repeat(32_000)}\n${',;'.repeat(16_000)}`);
  assert.deepEqual(found.map(({ line }) => line), [1, 2]);
});

test('errors of the service are shown at their line', () => {
  const { legs } = parse(`recipient,amount\n\n${A},1\n${B},2`);
  assert.equal(lineOfError({ argument: 'recipients[1].amount', message: '' }, legs), 4);
  assert.equal(lineOfError({ argument: null, message: `token: ${A} is blocked` }, legs), 3);
  assert.equal(lineOfError({ argument: 'total', message: 'must not be 0' }, legs), null);
});
