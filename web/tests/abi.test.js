import assert from 'node:assert/strict';
import { test } from 'node:test';

import { decodeValues } from '../lib/abi/decode.js';
import { encodeValues } from '../lib/abi/encode.js';
import { parseAbi, parseSignatures, signatureOf } from '../lib/abi/fragments.js';
import { parseInput } from '../lib/abi/input.js';
import { Interface, encodeCall, selectorOf, topicOf } from '../lib/abi/interface.js';
import { AbiError, parseType, typeName } from '../lib/abi/types.js';
import { bytesToHex, hexToBytes } from '../lib/values.js';

/** @param {string} signature */
const one = (signature) => /** @type {any} */ (parseSignatures([signature])[0]);
/** @param {...string} words */
const data = (...words) => `0x${words.map((word) => word.padStart(64, '0')).join('')}`;
/** @param {string} text_ */
const text = (text_) => Buffer.from(text_).toString('hex').padEnd(64, '0');

test('selectors and topics match those of deployed contracts', () => {
  assert.equal(selectorOf(one('function transfer(address to, uint256 value) returns (bool)')), '0xa9059cbb');
  assert.equal(selectorOf(one('function balanceOf(address)')), '0x70a08231');
  assert.equal(
    selectorOf(one('function aggregate3((address target, bool allowFailure, bytes callData)[] calls) payable')),
    '0x82ad56cb',
  );
  assert.equal(
    topicOf(one('event Transfer(address indexed from, address indexed to, uint256 value)')),
    '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef',
  );
});

// Examples of the ABI specification of Solidity.
test('the examples of the specification encode', () => {
  const baz = one('function baz(uint32 x, bool y) returns (bool r)');
  assert.equal(encodeCall(baz, [69n, true]), `0xcdcd77c0${data('45', '1').slice(2)}`);
  const bar = one('function bar(bytes3[2])');
  const words = ['616263', '646566'].map((word) => word.padEnd(64, '0'));
  assert.equal(encodeCall(bar, [['0x616263', '0x646566']]), `0xfce353f6${words.join('')}`);
  const sam = one('function sam(bytes, bool, uint[])');
  assert.equal(signatureOf(sam), 'sam(bytes,bool,uint256[])');
  assert.equal(
    encodeCall(sam, ['0x64617665', true, [1n, 2n, 3n]]),
    `0xa5643bf2${data('60', '1', 'a0', '4').slice(2)}${text('dave')}${data('3', '1', '2', '3').slice(2)}`,
  );
  const nested = one('function g(uint256[][], string[])');
  assert.equal(
    encodeCall(nested, [[[1n, 2n], [3n]], ['one', 'two', 'three']]),
    `0x2289b18c${data('40', '140', '2', '40', 'a0', '2', '1', '2', '1', '3', '3', '60', 'a0', 'e0', '3').slice(2)}${text('one')}` +
      `${data('3').slice(2)}${text('two')}${data('5').slice(2)}${text('three')}`,
  );
});

test('values of all types round-trip', () => {
  const types = [
    ['uint8', 255n], ['int8', -128n], ['int256', -1n], ['uint256', 2n ** 256n - 1n], ['bool', false],
    ['address', '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed'], ['bytes32', `0x${'ab'.repeat(32)}`], ['bytes', '0x'],
    ['bytes', `0x${'cd'.repeat(33)}`], ['string', 'ß€𝄞'], ['uint16[]', []], ['uint16[2][]', [[1n, 2n], [3n, 4n]]],
    ['string[2]', ['a', 'b'.repeat(40)]],
  ];
  for (const [type, value] of types) {
    const parameter = { name: '', type: parseType(/** @type {string} */ (type)) };
    assert.deepEqual(decodeValues([parameter], encodeValues([parameter], [/** @type {any} */ (value)])), [value], String(type));
  }
  const fragment = one('function f((uint256 id, (string name, bytes data)[] parts, address[2] pair) item, bool flag)');
  const pair = ['0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed', '0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359'];
  const values = [[7n, [['x', '0x01'], ['y', '0x']], pair], true];
  assert.deepEqual(decodeValues(fragment.inputs, encodeValues(fragment.inputs, values)), values);
});

test('values that do not fit are rejected', () => {
  const cases = [['uint8', 256n], ['uint8', -1n], ['int8', 128n], ['bool', 1n], ['address', '0x12'], ['bytes2', '0x010203'], ['uint8[2]', [1n]], ['string', 5n]];
  for (const [type, value] of cases) {
    const parameter = { name: '', type: parseType(/** @type {string} */ (type)) };
    assert.throws(() => encodeValues([parameter], [/** @type {any} */ (value)]), AbiError, String(type));
  }
});

test('crafted data is rejected without work', () => {
  const cases = [
    ['uint256[]', data('20', 'ffffffffffffffff')],
    ['bytes', data('ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff')],
    ['string', data('20', 'ff')],
    ['uint8', data('100')],
    ['bool', data('2')],
    ['address', data(`1${'0'.repeat(40)}`)],
    ['uint256', '0x00'],
    // Six levels of eight items that all point to the same next level would be 8^6 values.
    ['uint256[][][][][][]', data('20', ...Array.from({ length: 5 }, () => ['8', ...new Array(8).fill('100')]).flat(), '8', ...new Array(8).fill('1'))],
  ];
  for (const [type, bytes] of cases) {
    const parameter = { name: '', type: parseType(/** @type {string} */ (type)) };
    assert.throws(() => decodeValues([parameter], hexToBytes(/** @type {string} */ (bytes))), AbiError, String(type));
  }
});

test('overlapping offsets cannot multiply the values', () => {
  // 200 items that all point to one list of 200 items would be 40,000 values.
  const offsets = Array.from({ length: 200 }, () => (200 * 32).toString(16));
  const words = data('20', 'c8', ...offsets, 'c8', ...Array.from({ length: 200 }, () => '1'));
  const parameter = { name: '', type: parseType('uint256[][]') };
  assert.throws(() => decodeValues([parameter], hexToBytes(words)), /more than/);
});

test('invalid types and ABIs are rejected', () => {
  for (const type of ['uint7', 'uint264', 'bytes33', 'bytes0', 'tuple', 'foo', 'uint256[0]', 'uint256[99999]', `uint8${'[]'.repeat(20)}`]) {
    assert.throws(() => parseType(type), AbiError, type);
  }
  for (const abi of ['', '{', '{}', '[1]', '[{"type":"function","name":"<img>"}]', '[{"type":"event","name":"E","inputs":[{"type":5}]}]', 'function (', 'f(uint256']) {
    assert.throws(() => parseAbi(abi), AbiError, abi);
  }
});

test('JSON, artifacts and signatures are the same ABI', () => {
  const json = [
    { type: 'function', name: 'pay', stateMutability: 'payable', inputs: [{ name: 'orders', type: 'tuple[]', components: [{ name: 'id', type: 'bytes32' }] }], outputs: [] },
    { type: 'receive', stateMutability: 'payable' },
  ];
  const [fragment] = parseAbi(JSON.stringify(json));
  assert.deepEqual(parseAbi(JSON.stringify({ abi: json })), [fragment]);
  assert.equal(signatureOf(/** @type {any} */ (fragment)), 'pay((bytes32)[])');
  const [written] = parseAbi('function pay((bytes32 id)[] orders) external payable');
  assert.equal(signatureOf(/** @type {any} */ (written)), 'pay((bytes32)[])');
  assert.equal(written?.mutability, 'payable');
});

test('logs are decoded by topic and by number of indexed parameters', () => {
  const tokens = Interface.fromSignatures([
    'event Transfer(address indexed from, address indexed to, uint256 value)',
    'event Transfer(address indexed from, address indexed to, uint256 indexed tokenId)',
    'event Named(string indexed name, uint256 value)',
  ]);
  const [topic] = [topicOf(/** @type {any} */ (tokens.events[0]))];
  const [from, to] = ['1', '2'].map((digit) => data(digit));
  const fungible = tokens.decodeLog({ topics: [topic, from, to], data: data('5') });
  assert.deepEqual(fungible?.arguments.map((argument) => argument.value).slice(2), [5n]);
  const unique = tokens.decodeLog({ topics: [topic, from, to, data('9')], data: '0x' });
  assert.equal(unique?.arguments[2]?.parameter.name, 'tokenId');
  assert.equal(tokens.decodeLog({ topics: [topic], data: '0x' }), null);
  assert.equal(tokens.decodeLog({ topics: [], data: '0x' }), null);
  const named = tokens.decodeLog({ topics: [topicOf(/** @type {any} */ (tokens.events[2])), data('abc')], data: data('1') });
  assert.equal(named?.arguments[0]?.isHashed, true);
});

test('calls and errors are decoded', () => {
  const token = Interface.fromSignatures(['function transfer(address to, uint256 value) returns (bool)', 'error Denied(address account)']);
  const call = encodeCall(/** @type {any} */ (token.functions[0]), ['0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed', 3n]);
  assert.deepEqual(token.decodeCall(call)?.arguments.map((argument) => argument.value), ['0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed', 3n]);
  assert.equal(token.decodeCall(call.slice(0, 20)), null);
  assert.equal(token.decodeCall('0x'), null);
  const reverted = `0x08c379a0${data('20', '2').slice(2)}${text('no')}`;
  assert.deepEqual(token.decodeError(reverted)?.arguments.map((argument) => argument.value), ['no']);
  assert.equal(token.decodeError(`0x4e487b71${data('11').slice(2)}`)?.arguments[0]?.value, 17n);
});

test('typed text becomes values', () => {
  assert.equal(parseInput(parseType('uint256'), '1_000'), 1000n);
  assert.equal(parseInput(parseType('int8'), '-5'), -5n);
  assert.equal(parseInput(parseType('uint256'), '0xff'), 255n);
  assert.deepEqual(parseInput(parseType('uint256[]'), '[123456789012345678901234567890, "5"]'), [123456789012345678901234567890n, 5n]);
  assert.deepEqual(parseInput(parseType('string[]'), '["12345678901234567890"]'), ['12345678901234567890']);
  const [fragment] = parseSignatures(['function f((address to, uint256 value)[] items)']);
  const type = /** @type {any} */ (fragment?.inputs[0]).type;
  const address = '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed';
  assert.deepEqual(parseInput(type, `[{"to":"${address}","value":"5"}]`), [[address, 5n]]);
  assert.equal(typeName(type), '(address,uint256)[]');
  for (const [name, typed] of [['uint256', '1.5'], ['uint256', ''], ['bool', 'yes'], ['bytes', 'abc'], ['address', '0x1'], ['uint256[]', '5']]) {
    assert.throws(() => parseInput(parseType(/** @type {string} */ (name)), /** @type {string} */ (typed)), AbiError, `${name} ${typed}`);
  }
});

test('bytes of a decoded value are hex', () => {
  assert.equal(bytesToHex(hexToBytes('0xabcd')), '0xabcd');
});
