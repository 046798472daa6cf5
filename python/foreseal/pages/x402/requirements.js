// Payment requirements of x402 version 2, and the payment that a wallet signs: scheme `exact` by EIP-3009.

import { bytesToHex, formatInteger, formatTokens, isAddress, validDecimals } from '../lib/values.js';
import { isSameAddress } from '../lib/address.js';
import { visibleName } from '../lib/text.js';

/**
 * @typedef {{scheme: string, network: string, asset: string, amount: string, payTo: string, maxTimeoutSeconds: number,
 *   extra: {name: string, version: string}}} Requirements
 */
/**
 * @typedef {{requirements: Requirements, resource: unknown, extensions: unknown,
 *   now: number}} Demand `now` is the seller's time in seconds.
 */
/**
 * @typedef {{asset: string, chain_id: number, symbol: string | null, decimals: number | null,
 *   seller_name: string | null, network_name: string | null, rpc_url: string | null}} SellerDetails
 */

const NETWORK = /^eip155:([1-9]\d{0,14})$/;
const AMOUNT = /^\d{1,78}$/;
const MAX_SECONDS = 86_400;
const VERSION = 2;
const NONCE_SIZE = 32;
const FIELDS = [
  { name: 'from', type: 'address' },
  { name: 'to', type: 'address' },
  { name: 'value', type: 'uint256' },
  { name: 'validAfter', type: 'uint256' },
  { name: 'validBefore', type: 'uint256' },
  { name: 'nonce', type: 'bytes32' },
];
const DOMAIN_FIELDS = [
  { name: 'name', type: 'string' },
  { name: 'version', type: 'string' },
  { name: 'chainId', type: 'uint256' },
  { name: 'verifyingContract', type: 'address' },
];

/** @param {any} option @returns {option is Requirements} */
function isPayable(option) {
  const { scheme, network, asset, amount, payTo, maxTimeoutSeconds: seconds, extra } = option ?? {};
  if (scheme !== 'exact' || typeof network !== 'string' || !NETWORK.test(network)) return false;
  if (!isAddress(asset) || !isAddress(payTo) || typeof amount !== 'string' || !AMOUNT.test(amount)) return false;
  if (!Number.isSafeInteger(seconds) || seconds < 1 || seconds > MAX_SECONDS) return false;
  if (typeof extra?.name !== 'string' || typeof extra.version !== 'string') return false;
  return extra.assetTransferMethod === undefined || extra.assetTransferMethod === 'eip3009';
}

/**
 * Returns the first payment option that a wallet can sign here, or null.
 * @param {any} body body of a response with status 402
 * @param {number} now seconds
 * @returns {Demand | null}
 */
export function readDemand(body, now) {
  if (body?.x402Version !== VERSION || !Array.isArray(body.accepts)) return null;
  const requirements = body.accepts.find(isPayable);
  return requirements === undefined ? null : { requirements, resource: body.resource, extensions: body.extensions, now };
}

/** @param {Requirements} requirements */
export const chainIdOf = ({ network }) => Number(NETWORK.exec(network)?.[1] ?? 0);

/** Returns the name of the token, by the seller. @param {{name: string}} extra */
export const tokenName = ({ name }) => visibleName(name) || 'a token without a name';

/**
 * Returns the price for people. Without the decimals of the token it is in smallest units.
 * @param {Requirements} requirements @param {SellerDetails | null} details
 */
export function priceOf({ amount, asset, network, extra }, details) {
  const isSeller = details !== null && network === `eip155:${details.chain_id}` && isSameAddress(details.asset, asset);
  const decimals = isSeller ? validDecimals(details.decimals) : null;
  const symbol = isSeller ? visibleName(details.symbol ?? '') : '';
  if (decimals === null || symbol === '') return `${formatInteger(BigInt(amount))} smallest units of ${tokenName(extra)}`;
  return `${formatTokens(BigInt(amount), decimals)} ${symbol}`;
}

/**
 * Returns the typed data of a payment by an account.
 * @param {Demand} demand @param {string} payer
 */
export function typedDataOf({ requirements, now }, payer) {
  const { asset, amount, payTo, maxTimeoutSeconds, extra } = requirements;
  return {
    types: { EIP712Domain: DOMAIN_FIELDS, TransferWithAuthorization: FIELDS },
    primaryType: 'TransferWithAuthorization',
    domain: { name: extra.name, version: extra.version, chainId: chainIdOf(requirements), verifyingContract: asset },
    message: {
      from: payer,
      to: payTo,
      value: amount,
      validAfter: '0',
      validBefore: String(now + maxTimeoutSeconds),
      nonce: bytesToHex(crypto.getRandomValues(new Uint8Array(NONCE_SIZE))),
    },
  };
}

/**
 * Returns the value of the header `PAYMENT-SIGNATURE`.
 * @param {Demand} demand @param {Record<string, string>} authorization @param {string} signature
 */
export function paymentHeader({ requirements, resource, extensions }, authorization, signature) {
  const payment = {
    x402Version: VERSION,
    payload: { authorization, signature },
    accepted: requirements,
    ...(resource ? { resource } : {}),
    ...(extensions ? { extensions } : {}),
  };
  return encodeBase64(JSON.stringify(payment));
}

/** @param {string} text */
function encodeBase64(text) {
  let binary = '';
  for (const byte of new TextEncoder().encode(text)) binary += String.fromCharCode(byte);
  return btoa(binary);
}

/**
 * Returns the JSON of a header in base64; null for anything else.
 * @param {string | null} text
 * @returns {any}
 */
export function decodeHeader(text) {
  if (text === null) return null;
  try {
    return JSON.parse(new TextDecoder().decode(Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0))));
  } catch {
    return null;
  }
}
