// One account: balance, nonce, code, tokens, storage, and its contract.

import { parseAddress } from '../../lib/address.js';
import { Ether, Integer } from '../../lib/components/amount.js';
import { ErrorNotice, Loaded } from '../../lib/components/errors.js';
import { Hash, HexBlock } from '../../lib/components/hash.js';
import { useRepeat, useRequest } from '../../lib/components/request.js';
import { Badge, Facts, Panel } from '../../lib/components/table.js';
import { Tabs } from '../../lib/components/tabs.js';
import { html, onValue, useId, useState } from '../../lib/components/ui.js';
import { keccakHex } from '../../lib/keccak.js';
import { byteLength, formatInteger, hexToBytes, shortHex, toQuantity } from '../../lib/values.js';
import { ContractPanel } from '../address/contract.js';
import { TokenList, TransferList, useTransfers } from '../address/transfers.js';
import { fixedContractName } from '../abis.js';
import { router, rpc } from '../context.js';
import { AddressLink, blockParameter } from '../links.js';
import { StorageReader, loadBalance } from '../state-reader.js';

/** @typedef {import('../../lib/router.js').Location} Location */
/** @typedef {import('../links.js').StateAt} StateAt */
/** @typedef {import('../state-reader.js').Balance} Balance */

const RELOAD_MS = 1000;
/** Code of an account that delegates to a contract (EIP-7702). */
const DELEGATION = '0xef0100';

/** @param {Location} location */
export const title = ({ params: { address = '' } }) => `Address ${shortHex(address)}`;

/**
 * Returns the position that the query names: a block, a step of it, or the newest step.
 * @param {URLSearchParams} query
 * @returns {StateAt}
 */
function positionOf(query) {
  const [block, step] = [query.get('block'), query.get('step')];
  if (block === null || !/^\d{1,15}$/.test(block)) return { block: 'pending', step: null };
  return { block: toQuantity(Number(block)), step: step !== null && /^\d{1,6}$/.test(step) ? Number(step) : null };
}

/** @param {{query: URLSearchParams}} props */
function PositionForm({ query }) {
  const id = useId();
  const [block, setBlock] = useState(query.get('block') ?? '');
  const [step, setStep] = useState(query.get('step') ?? '');
  /** @param {Event} event */
  const submit = (event) => {
    event.preventDefault();
    router.setQuery({ block: block.trim() || null, step: block.trim() && step.trim() ? step.trim() : null });
  };
  const reset = () => {
    setBlock('');
    setStep('');
    router.setQuery({ block: null, step: null });
  };
  return html`<form class="position" onSubmit=${submit} aria-label="Position of the state">
    <label for=${`${id}-block`}>At block</label>
    <input id=${`${id}-block`} class="input" inputmode="numeric" placeholder="newest" value=${block}
      onInput=${onValue(setBlock)} />
    <label for=${`${id}-step`}>step</label>
    <input id=${`${id}-step`} class="input" inputmode="numeric" placeholder="last" value=${step}
      onInput=${onValue(setStep)} />
    <button type="submit" class="button">Show</button>
    ${query.get('block') !== null && html`<button type="button" class="button" onClick=${reset}>Newest</button>`}
  </form>`;
}

/** @param {{account: Balance, code: string}} props */
function Overview({ account: { balance, nonce }, code }) {
  const target = code.startsWith(DELEGATION) ? `0x${code.slice(DELEGATION.length)}` : null;
  return html`<${Facts} rows=${[
    ['Balance', html`<${Ether} value=${balance} digits=${18} />`],
    ['Nonce', html`<${Integer} value=${nonce} />`],
    ['Delegates to', target && html`<${AddressLink} address=${target} full=${true} />`],
    ['Code', target ? null : code === '0x' ? 'none' : `${formatInteger(byteLength(code))} bytes`],
  ]} />`;
}

/** @param {{code: string}} props */
function Code({ code }) {
  return html`<div class="stack"><${Facts} rows=${[
    ['Size', `${formatInteger(byteLength(code))} bytes`],
    ['Hash', html`<${Hash} value=${keccakHex(hexToBytes(code))} full=${true} />`],
  ]} /><${HexBlock} value=${code} label="code" /></div>`;
}

/** @param {{address: string, code: string, at: StateAt, selected: string | null}} props */
function AddressTabs({ address, code, at, selected }) {
  const transfers = useTransfers(address);
  const props = { address, at, code, transfers };
  /** @param {string} id @param {string} label @param {(props: any) => unknown} View */
  const tab = (id, label, View) => ({ id, label, content: () => html`<${View} ...${props} />` });
  const ofCode = code === '0x' ? [] : [tab('contract', 'Contract', ContractPanel), tab('code', 'Code', Code)];
  const tabs = [
    tab('transfers', 'Token transfers', TransferList),
    tab('tokens', 'Tokens', TokenList),
    ...ofCode,
    tab('storage', 'Storage', StorageReader),
  ];
  return html`<section class="panel"><${Tabs} label="About the account" tabs=${tabs} selected=${selected}
    onSelect=${(/** @type {string} */ id) => router.setQuery({ tab: id === 'transfers' ? null : id })} /></section>`;
}

/** @param {{address: string, location: Location}} props */
function AddressView({ address, location }) {
  const at = positionOf(location.query);
  const isNewest = at.block === 'pending';
  const inputs = [address, at.block, at.step];
  const request = useRequest((signal) => loadBalance(address, blockParameter(at), signal), inputs);
  const ofCode = useRequest((signal) => rpc.call('eth_getCode', [address, blockParameter(at)], { signal }), inputs);
  const code = /** @type {string} */ (ofCode.data ?? '0x');
  useRepeat(request, isNewest ? RELOAD_MS : null);
  // The code of a contract is large and does not change; an account without code may get some.
  useRepeat(ofCode, isNewest && code === '0x' ? RELOAD_MS : null);
  const name = fixedContractName(address);
  const isContract = code !== '0x' && !code.startsWith(DELEGATION);
  const where = isNewest ? 'at the newest step' : `at block ${BigInt(at.block)}${at.step === null ? '' : `, step ${at.step}`}`;
  const form = html`<${PositionForm} key=${location.query.get('block')} query=${location.query} />`;
  return html`
    <div class="page-head"><h1>${name ?? 'Address'} ${isContract && html`<${Badge}>contract</${Badge}>`}</h1>
      <p><${Hash} value=${address} full=${true} /></p></div>
    <${Panel} title=${`State ${where}`} aside=${form}>
      <${Loaded} request=${request} label="Reading the account">
        ${(/** @type {Balance} */ account) => html`<${Overview} account=${account} code=${code} />`}
      </${Loaded}>
    </${Panel}>
    ${ofCode.data !== null && html`<${AddressTabs} key=${address} address=${address} code=${code} at=${at}
      selected=${location.query.get('tab')} />`}
  `;
}

/** @param {{location: Location}} props */
export default function AddressPage({ location }) {
  const text = location.params['address'] ?? '';
  let address;
  try {
    address = parseAddress(text);
  } catch (error) {
    const reason = error instanceof Error ? error.message : '';
    return html`<h1>Address</h1><${ErrorNotice} error=${new Error(`${text.slice(0, 80)} is not valid: ${reason}.`)} />`;
  }
  return html`<${AddressView} key=${address} address=${address} location=${location} />`;
}
