// Amounts of currency, gas and other numbers.

import { formatInteger, formatUnits } from '../values.js';
import { html } from './ui.js';

const MAX_DIGITS = 6;

/**
 * An amount in its main unit. The title has all digits.
 * @param {{value: bigint, decimals: number, unit: string, digits?: number}} props
 */
export function Amount({ value, decimals, unit, digits = MAX_DIGITS }) {
  const exact = formatUnits(value, decimals);
  return html`<span class="amount" title=${`${exact} ${unit}`}>${formatUnits(value, decimals, { digits })}
    <span class="unit"> ${unit}</span></span>`;
}

/**
 * An amount in wei if all shown digits of the larger unit would be zero.
 * @param {{wei: bigint, decimals: number, unit: string, digits: number}} props
 */
function WeiAmount({ wei, decimals, unit, digits }) {
  const isTiny = wei > 0n && wei < 10n ** BigInt(decimals - digits);
  if (isTiny) return html`<${Amount} value=${wei} decimals=${0} unit="wei" />`;
  return html`<${Amount} value=${wei} decimals=${decimals} unit=${unit} digits=${digits} />`;
}

/** An amount in ether. @param {{value: bigint | string, digits?: number}} props */
export function Ether({ value, digits = MAX_DIGITS }) {
  return html`<${WeiAmount} wei=${BigInt(value)} decimals=${18} unit="ETH" digits=${digits} />`;
}

/** A price of gas in gwei. @param {{value: bigint | string}} props */
export function Gwei({ value }) {
  return html`<${WeiAmount} wei=${BigInt(value)} decimals=${9} unit="gwei" digits=${4} />`;
}

/** A whole number with grouped digits. @param {{value: bigint | number | string}} props */
export function Integer({ value }) {
  return html`<span class="number">${formatInteger(BigInt(value))}</span>`;
}

/**
 * A share of a limit as a bar with its percentage.
 * @param {{used: number, limit: number, label: string}} props
 */
export function Meter({ used, limit, label }) {
  const percent = limit > 0 ? (100 * used) / limit : 0;
  const text = `${percent.toFixed(percent < 10 ? 1 : 0)} %`;
  return html`<span class="meter">
    <progress value=${used} max=${Math.max(1, limit)} aria-label=${label}>${text}</progress>
    <span class="number">${text}</span>
  </span>`;
}
