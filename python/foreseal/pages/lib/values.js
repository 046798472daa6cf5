// Values of JSON-RPC: hex data, quantities, amounts and their form for people.

const QUANTITY = /^0x(0|[1-9a-f][0-9a-f]*)$/i;
const DATA = /^0x([0-9a-f]{2})*$/i;
const HASH = /^0x[0-9a-f]{64}$/i;
const ADDRESS = /^0x[0-9a-f]{40}$/i;
const DECIMAL = /^(\d+)(?:\.(\d+))?$/;
const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'));

/** Error for a text that is not a value of the expected form. */
export class ValueError extends Error {
  /** @override */
  name = 'ValueError';
}

/** @param {unknown} text @returns {text is `0x${string}`} */
export const isData = (text) => typeof text === 'string' && DATA.test(text);
/** @param {unknown} text @returns {text is `0x${string}`} */
export const isHash = (text) => typeof text === 'string' && HASH.test(text);
/** @param {unknown} text @returns {text is `0x${string}`} */
export const isAddress = (text) => typeof text === 'string' && ADDRESS.test(text);
/** @param {unknown} text @returns {text is `0x${string}`} */
export const isQuantity = (text) => typeof text === 'string' && QUANTITY.test(text);

/**
 * Returns the bytes of hex text with the prefix 0x.
 * @param {string} text
 * @returns {Uint8Array}
 */
export function hexToBytes(text) {
  if (!isData(text)) throw new ValueError('must be 0x and an even number of hex digits');
  const bytes = new Uint8Array((text.length - 2) / 2);
  for (let index = 0; index < bytes.length; index += 1) {
    bytes[index] = Number.parseInt(text.slice(2 + 2 * index, 4 + 2 * index), 16);
  }
  return bytes;
}

/**
 * Returns the bytes as hex with the prefix 0x.
 * @param {Uint8Array} bytes
 */
export function bytesToHex(bytes) {
  let text = '0x';
  for (const byte of bytes) text += HEX[byte];
  return text;
}

/**
 * Returns the number of bytes of hex text.
 * @param {string} text
 */
export const byteLength = (text) => Math.max(0, (text.length - 2) / 2);

/** @param {Uint8Array[]} parts */
export function concatBytes(...parts) {
  const joined = new Uint8Array(parts.reduce((size, part) => size + part.length, 0));
  let offset = 0;
  for (const part of parts) {
    joined.set(part, offset);
    offset += part.length;
  }
  return joined;
}

/** @param {Uint8Array} one @param {Uint8Array} other */
export function equalBytes(one, other) {
  return one.length === other.length && one.every((byte, index) => byte === other[index]);
}

/**
 * Parses a quantity: 0x and hex digits without leading zeros.
 * @param {unknown} text
 * @returns {bigint}
 */
export function parseQuantity(text) {
  if (!isQuantity(text)) throw new ValueError('must be a quantity: 0x and hex digits without leading zeros');
  return BigInt(text);
}

/**
 * Parses a quantity that fits a JavaScript number, such as a block number, an index or gas.
 * @param {unknown} text
 * @returns {number}
 */
export function parseCount(text) {
  const value = parseQuantity(text);
  if (value > BigInt(Number.MAX_SAFE_INTEGER)) throw new ValueError('must be below 2^53');
  return Number(value);
}

/**
 * Returns the quantity of a number that is not negative.
 * @param {bigint | number} value
 */
export function toQuantity(value) {
  if (value < 0 || (typeof value === 'number' && !Number.isSafeInteger(value))) {
    throw new ValueError('must be a whole number that is not negative');
  }
  return `0x${value.toString(16)}`;
}

/**
 * Returns the big-endian bytes of a number, padded on the left.
 * @param {bigint} value
 * @param {number} size
 */
export function bigintToBytes(value, size) {
  const text = value.toString(16).padStart(2 * size, '0');
  if (value < 0n || text.length > 2 * size) throw new ValueError(`must fit in ${size} bytes`);
  return hexToBytes(`0x${text}`);
}

/** @param {Uint8Array} bytes */
export const bytesToBigint = (bytes) => (bytes.length === 0 ? 0n : BigInt(bytesToHex(bytes)));

/**
 * Returns a whole number with thin spaces between groups of three digits.
 * @param {bigint | number | string} value
 */
export function formatInteger(value) {
  const text = value.toString();
  const sign = text.startsWith('-') ? '−' : '';
  return sign + text.replace('-', '').replace(/\B(?=(\d{3})+(?!\d))/g, '\u202f');
}

/**
 * Returns an amount in its main unit: `formatUnits(1500000n, 6)` is `1.5`. Digits beyond `digits` are cut off, which
 * the sign `…` shows.
 * @param {bigint} value amount in the smallest unit
 * @param {number} decimals
 * @param {{digits?: number}} [options]
 */
export function formatUnits(value, decimals, { digits = decimals } = {}) {
  const negative = value < 0n;
  const text = (negative ? -value : value).toString().padStart(decimals + 1, '0');
  const whole = text.slice(0, text.length - decimals);
  const fraction = text.slice(text.length - decimals).replace(/0+$/, '');
  const shown = fraction.slice(0, digits);
  const cut = fraction.length > digits ? '…' : '';
  const point = shown === '' ? '' : '.';
  return `${negative ? '−' : ''}${formatInteger(whole)}${point}${shown}${cut}`;
}

/** Decimal places of an amount of a token, if the token has as many. */
const MIN_TOKEN_PLACES = 2;

/** More decimals than any token has. A contract that reports more would show every amount as zero. */
const MAX_DECIMALS = 36;

/**
 * Returns the decimals that a token reports, or null if no amount can be shown in them.
 * @param {unknown} value
 * @returns {number | null}
 */
export function validDecimals(value) {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= MAX_DECIMALS ? value : null;
}

/**
 * Returns an exact amount of a token for people, with two decimal places or as many as needed:
 * `formatTokens(12500000n, 6)` is `12.50`. Without valid decimals, `formatTokens(5n, null)` is `5 units`.
 * @param {bigint} value amount in the smallest unit
 * @param {number | null} decimals
 */
export function formatTokens(value, decimals) {
  if (decimals === null) return `${formatInteger(value)} ${value === 1n ? 'unit' : 'units'}`;
  const [whole = '', places = ''] = formatUnits(value, decimals).split('.');
  const shown = places.padEnd(Math.min(MIN_TOKEN_PLACES, decimals), '0');
  return shown === '' ? whole : `${whole}.${shown}`;
}

/** Amounts from which an axis shows thousands and millions. */
const MIN_COMPACT = 10_000;

/**
 * Returns an amount of a token for a chart, in its main unit: two decimal places, or `12.5K` and `3M`.
 * @param {number} value
 */
export function approximateTokens(value) {
  if (value < MIN_COMPACT) return formatTokens(BigInt(Math.round(100 * value)), 2);
  return value.toLocaleString('en-US', { notation: 'compact', maximumFractionDigits: 1 });
}

/**
 * Parses an amount in its main unit: `parseUnits('1.5', 6)` is `1500000n`.
 * @param {string} text
 * @param {number} decimals
 * @returns {bigint}
 */
export function parseUnits(text, decimals) {
  const match = DECIMAL.exec(text.trim());
  if (!match) throw new ValueError('must be a decimal number');
  const [, whole = '0', fraction = ''] = match;
  if (fraction.length > decimals) throw new ValueError(`must have at most ${decimals} decimal places`);
  return BigInt(whole + fraction.padEnd(decimals, '0'));
}

/**
 * Returns the first and last digits of hex text, with an ellipsis between them.
 * @param {string} text
 * @param {number} [head]
 * @param {number} [tail]
 */
export function shortHex(text, head = 6, tail = 4) {
  return text.length <= head + tail + 3 ? text : `${text.slice(0, 2 + head)}…${text.slice(-tail)}`;
}

/**
 * Returns a size with its unit.
 * @param {number} bytes
 */
export function formatBytes(bytes) {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let value = bytes;
  let unit = 0;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${unit === 0 ? value : value.toFixed(1)} ${units[unit]}`;
}

/**
 * Returns a time span in the largest fitting unit.
 * @param {number} milliseconds
 */
export function formatDuration(milliseconds) {
  const seconds = milliseconds / 1000;
  if (Math.abs(milliseconds) < 1000) return `${Math.round(milliseconds)} ms`;
  if (seconds < 60) return `${Number(seconds.toFixed(seconds < 10 ? 1 : 0))} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours} h` : `${Math.floor(hours / 24)} d`;
}
