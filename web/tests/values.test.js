import assert from 'node:assert/strict';
import { test } from 'node:test';

import { checksumAddress, parseAddress } from '../lib/address.js';
import { keccakHex } from '../lib/keccak.js';
import { visibleName, visibleText } from '../lib/text.js';
import {
  ValueError, approximateTokens, bigintToBytes, bytesToHex, formatBytes, formatDuration, formatInteger, formatTokens, formatUnits, hexToBytes, validDecimals,
  isQuantity, parseCount, parseQuantity, parseUnits, shortHex, toQuantity,
} from '../lib/values.js';

const SPACE = '\u202f';

test('keccak matches the hashes of the yellow paper and of EIP-55', () => {
  assert.equal(keccakHex(''), '0xc5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470');
  assert.equal(keccakHex('Transfer(address,address,uint256)'), '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef');
});

test('addresses have the checksums of EIP-55', () => {
  const examples = [
    '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed',
    '0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359',
    '0xdbF03B407c01E7cD3CBea99509d93f8DDDC8C6FB',
    '0xD1220A0cf47c7B9Be7A2E6BA89F429762e7b9aDb',
  ];
  for (const address of examples) {
    assert.equal(checksumAddress(address.toLowerCase()), address);
    assert.equal(parseAddress(` ${address} `), address);
    assert.equal(parseAddress(address.toLowerCase()), address);
  }
  assert.throws(() => parseAddress('0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAeD'), /checksum/);
  for (const text of ['', '0x', '0x12', '5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed', `0x${'g'.repeat(40)}`]) {
    assert.throws(() => parseAddress(text), ValueError);
  }
});

test('quantities are the shortest hex', () => {
  assert.equal(parseQuantity('0x0'), 0n);
  assert.equal(parseQuantity('0xff'), 255n);
  assert.equal(toQuantity(0), '0x0');
  assert.equal(toQuantity(2n ** 64n), '0x10000000000000000');
  for (const text of ['', '0x', '0x00', '0x01', '1', 1, null, '-0x1']) assert.equal(isQuantity(text), false, String(text));
  assert.throws(() => parseCount('0x20000000000000'), ValueError);
  assert.throws(() => toQuantity(-1), ValueError);
  assert.throws(() => toQuantity(1.5), ValueError);
});

test('hex round-trips and rejects half bytes', () => {
  assert.equal(bytesToHex(hexToBytes('0x00ff10')), '0x00ff10');
  assert.throws(() => hexToBytes('0x0'), ValueError);
  assert.throws(() => hexToBytes('00'), ValueError);
  assert.equal(bytesToHex(bigintToBytes(258n, 4)), '0x00000102');
  assert.throws(() => bigintToBytes(256n, 1), ValueError);
});

test('amounts are exact in both directions', () => {
  assert.equal(formatUnits(1500000n, 6), '1.5');
  assert.equal(formatUnits(0n, 18), '0');
  assert.equal(formatUnits(1n, 18), '0.000000000000000001');
  assert.equal(formatUnits(1n, 18, { digits: 4 }), '0.0000…');
  assert.equal(formatUnits(1234567890123n, 6, { digits: 2 }), `1${SPACE}234${SPACE}567.89…`);
  assert.equal(formatUnits(-1500000n, 6), '−1.5');
  assert.equal(formatUnits(7n, 0), '7');
  assert.equal(parseUnits('1.5', 6), 1500000n);
  assert.equal(parseUnits(' 0.000001 ', 6), 1n);
  for (const text of ['', '.', '1e3', '1,5', '-1', '1.0000001']) assert.throws(() => parseUnits(text, 6), ValueError, text);
});

test('numbers, sizes and durations are readable', () => {
  assert.equal(formatInteger(1234567), `1${SPACE}234${SPACE}567`);
  assert.equal(formatInteger(-1234n), `−1${SPACE}234`);
  assert.equal(formatBytes(512), '512 B');
  assert.equal(formatBytes(1536), '1.5 KiB');
  assert.equal(formatDuration(250), '250 ms');
  assert.equal(formatDuration(2500), '2.5 s');
  assert.equal(formatDuration(65_000), '1 min');
  assert.equal(shortHex('0x1234567890abcdef', 4, 4), '0x1234…cdef');
  assert.equal(shortHex('0x12', 4, 4), '0x12');
});

test('decimals that no token has are not valid', () => {
  for (const value of [-1, 37, 77, 255, 1.5, Infinity, NaN, null, '6', 6n]) assert.equal(validDecimals(value), null, String(value));
  assert.deepEqual([0, 6, 36].map(validDecimals), [0, 6, 36]);
});

test('a name of spaces, fillers and marks is empty', () => {
  for (const text of ['', ' ', '\u3164', '\u3164'.repeat(50), '\u2800\u00a0', '\u200b\u2060', '\u115f\u1160', '\uffa0', '\u0301'.repeat(90), ' \u0336\u034f']) {
    assert.equal(visibleName(text), '', JSON.stringify(text));
  }
  assert.equal(visibleName('e\u0301'), 'e\u0301');
  assert.equal(visibleName('हिन्दी'), 'हिन्दी');
});

test('stacked marks are limited for each character', () => {
  assert.equal(visibleName(`a${'\u0301'.repeat(100)}b`), 'a\u0301\u0301\u0301b');
  assert.equal(visibleName(`a${'\u0301'.repeat(100_000)}`), 'a\u0301\u0301\u0301…');
  assert.ok(visibleName(`a${'\u0301\u0316'.repeat(3)}`.repeat(50)).length <= 41);
});

test('confusing characters of names are visible', () => {
  assert.equal(visibleName('USD\u202eC'), 'USD\ufffdC');
  assert.equal(visibleName('a\u200bb\u0000'), 'a\ufffdb\ufffd');
  assert.equal(visibleName(' A\nB '), 'A B');
  assert.equal(visibleText('x'.repeat(30), 10), `${'x'.repeat(10)}…`);
  assert.equal(visibleText('日本 é €'), '日本 é €');
  assert.equal(visibleText('A\u3164B\u2800C'), 'A\ufffdB\ufffdC');
  assert.equal(visibleText('❤\ufe0f'), '❤\ufe0f');
});

test('amounts of tokens have two places, or as many as needed', () => {
  assert.equal(formatTokens(12_500_000n, 6), '12.50');
  assert.equal(formatTokens(12_340_001n, 6), '12.340001');
  assert.equal(formatTokens(0n, 6), '0.00');
  assert.deepEqual([0, 12.5, 1234.567, 12_500, 3e6].map(approximateTokens), ['0.00', '12.50', '1\u202f234.57', '12.5K', '3M']);
  assert.equal(formatTokens(1n, 18), '0.000000000000000001');
  assert.equal(formatTokens(1234_000_000n, 6), `1${SPACE}234.00`);
  assert.equal(formatTokens(15n, 1), '1.5');
  assert.equal(formatTokens(7n, 0), '7');
  assert.equal(formatTokens(1234n, null), `1${SPACE}234 units`);
});
