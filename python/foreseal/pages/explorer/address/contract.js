// Reading and writing of a contract through an ABI.

import { Interface, encodeCall, selectorOf } from '../../lib/abi/interface.js';
import { parseInput } from '../../lib/abi/input.js';
import { AbiError, typeName } from '../../lib/abi/types.js';
import { Disclosure } from '../../lib/components/disclosure.js';
import { ErrorNotice } from '../../lib/components/errors.js';
import { SelectField, TextField } from '../../lib/components/field.js';
import { useRequest } from '../../lib/components/request.js';
import { html, onValue, useId, useState } from '../../lib/components/ui.js';
import { RpcError } from '../../lib/rpc.js';
import { visibleName } from '../../lib/text.js';
import { parseUnits } from '../../lib/values.js';
import { builtInInterfaces, fixedContractName, guessInterface, pastedInterface, storeAbi, storedAbi } from '../abis.js';
import { rpc } from '../context.js';
import { Arguments, RevertReason } from '../decoded.js';
import { TransactionLink, blockParameter } from '../links.js';
import { WalletPanel, useWallet } from './wallet-panel.js';

/** @typedef {import('../../lib/abi/fragments.js').Fragment} Fragment */
/** @typedef {import('../../lib/abi/interface.js').Argument} Argument */
/** @typedef {import('../abis.js').NamedInterface} NamedInterface */
/** @typedef {import('../links.js').StateAt} StateAt */
/** @typedef {ReturnType<typeof useWallet>} WalletState */
/** @typedef {{values?: Argument[], sent?: string, error?: unknown, isRunning?: boolean, note?: string}} Outcome */

/** @param {Fragment} fragment */
const isRead = (fragment) => fragment.mutability === 'view' || fragment.mutability === 'pure';

/** @param {{error: unknown, to: string}} props */
function CallError({ error, to }) {
  const data = error instanceof RpcError && typeof error.data === 'string' ? error.data : null;
  return html`<${ErrorNotice} error=${error} />${data !== null && html`<${RevertReason} to=${to} output=${data} />`}`;
}

/** @param {{outcome: Outcome, to: string}} props */
function OutcomeView({ outcome, to }) {
  return html`<div aria-live="polite">
    ${outcome.isRunning && html`<p class="muted">Running…</p>`}
    ${outcome.note && html`<p class="notice notice-good">${outcome.note}</p>`}
    ${outcome.values && html`<${Arguments} list=${outcome.values} />`}
    ${outcome.sent && html`<div class="notice notice-good"><p>Sent</p>
      <${TransactionLink} hash=${outcome.sent} full=${true} /></div>`}
    ${outcome.error && html`<${CallError} error=${outcome.error} to=${to} />`}
  </div>`;
}

/**
 * Parses the text of an argument. The error names the argument.
 * @param {import('../../lib/abi/types.js').Parameter} input @param {number} index @param {string} text
 */
function parseField(input, index, text) {
  try {
    return parseInput(input.type, text);
  } catch (error) {
    throw new AbiError(`${labelOf(input, index)}: ${error instanceof Error ? error.message : 'invalid'}`);
  }
}

/** @param {{name: string}} input @param {number} index */
const labelOf = ({ name }, index) => visibleName(name) || `argument ${index}`;

/**
 * Form of one function.
 * @param {{fragment: Fragment, contract: Interface, address: string, at: StateAt, wallet: WalletState}} props
 */
function FunctionForm({ fragment, contract, address, at, wallet }) {
  const [texts, setTexts] = useState(/** @type {string[]} */ (fragment.inputs.map(() => '')));
  const [value, setValue] = useState('0');
  const [outcome, setOutcome] = useState(/** @type {Outcome} */ ({}));
  const isPayable = fragment.mutability === 'payable';
  /** @param {(data: string, wei: bigint) => Promise<Outcome>} act */
  const run = async (act) => {
    setOutcome({ isRunning: true });
    try {
      const values = fragment.inputs.map((input, index) => parseField(input, index, texts[index] ?? ''));
      setOutcome(await act(encodeCall(fragment, values), isPayable ? parseUnits(value, 18) : 0n));
    } catch (error) {
      setOutcome({ error });
    }
  };
  /** @param {string} data @param {bigint} wei */
  const call = async (data, wei) => {
    const from = wallet.account === null ? {} : { from: wallet.account };
    const paid = wei > 0n ? { value: `0x${wei.toString(16)}` } : {};
    const block = isRead(fragment) ? blockParameter(at) : 'pending';
    const result = await rpc.call('eth_call', [{ to: address, data, ...from, ...paid }, block], { alone: true });
    const values = contract.decodeResult(fragment, result);
    return isRead(fragment) ? { values } : { values, note: 'The call succeeds on the pending block.' };
  };
  /** @param {string} data @param {bigint} wei */
  const send = async (data, wei) => ({ sent: await wallet.send({ to: address, data, value: wei }) });
  const summary = html`<span class="mono">${visibleName(fragment.name, 80)}</span>
    <span class="muted small mono"> ${selectorOf(fragment)}</span>`;
  return html`<${Disclosure} className="function" summary=${summary}>${() => html`
    <form class="stack" onSubmit=${(/** @type {Event} */ event) => { event.preventDefault(); void run(call); }}>
      ${fragment.inputs.map((input, index) => html`<${TextField} key=${index} isCode=${true} value=${texts[index]}
        label=${html`${labelOf(input, index)} <span class="muted mono">${typeName(input.type).slice(0, 80)}</span>`}
        onChange=${(/** @type {string} */ text) => setTexts((before) => before.with(index, text))} />`)}
      ${isPayable && html`<${TextField} label="Value in ETH" value=${value} inputmode="decimal" onChange=${setValue} />`}
      <div class="actions">
        <button type="submit" class="button">${isRead(fragment) ? 'Read' : 'Simulate'}</button>
        ${!isRead(fragment) && html`<button type="button" class="button button-primary" onClick=${() => run(send)}
          disabled=${wallet.account === null}>Send from the wallet</button>`}
      </div>
      <${OutcomeView} outcome=${outcome} to=${address} />
    </form>`}
  </${Disclosure}>`;
}

/** @param {{address: string, onChange: () => void}} props */
function AbiForm({ address, onChange }) {
  const id = useId();
  const [text, setText] = useState(() => storedAbi(address) ?? '');
  const [error, setError] = useState(/** @type {unknown} */ (null));
  const save = () => {
    try {
      Interface.parse(text);
      storeAbi(address, text);
      setError(null);
      onChange();
    } catch (failure) {
      setError(failure);
    }
  };
  const remove = () => {
    storeAbi(address, null);
    setText('');
    onChange();
  };
  return html`<details><summary>Use another ABI</summary><div class="stack">
    <div class="field"><label for=${id}>ABI</label>
      <textarea id=${id} class="input" value=${text} spellcheck="false" aria-describedby=${`${id}-hint`}
        onInput=${onValue(setText)}></textarea>
      <p class="field-hint" id=${`${id}-hint`}>JSON, or one signature a line: function balanceOf(address) view returns
        (uint256). It is stored in this browser only.</p>
    </div>
    ${error && html`<${ErrorNotice} error=${error} />`}
    <div class="actions"><button type="button" class="button" onClick=${save}>Use this ABI</button>
      ${storedAbi(address) !== null && html`<button type="button" class="button" onClick=${remove}>
        Remove it</button>`}</div>
  </div></details>`;
}

/** @param {string} address @param {string} code */
async function candidateInterfaces(address, code) {
  const all = await builtInInterfaces();
  const pasted = pastedInterface(address);
  const fixed = fixedContractName(address);
  const likely = pasted ?? all.find((one) => one.name === fixed) ?? (await guessInterface(code));
  return { all: pasted ? [pasted, ...all] : all, likely };
}

/** @param {{address: string, code: string, at: StateAt}} props */
export function ContractPanel({ address, code, at }) {
  const wallet = useWallet();
  const [chosen, setChosen] = useState(/** @type {string | null} */ (null));
  const request = useRequest(() => candidateInterfaces(address, code), [address, code]);
  if (request.data === null) return request.error ? html`<${ErrorNotice} error=${request.error} />` : null;
  const { all, likely } = request.data;
  const current = all.find((one) => one.name === chosen) ?? likely;
  const functions = current?.contract.functions ?? [];
  /** @param {Fragment} fragment */
  const form = (fragment) => html`<${FunctionForm} key=${`${current?.name}-${selectorOf(fragment)}`} fragment=${fragment}
    contract=${current?.contract} address=${address} at=${at} wallet=${wallet} />`;
  const options = all.map((one) => ({ value: one.name, label: one === likely ? `${one.name} (fits)` : one.name }));
  const none = current ? [] : [{ value: '', label: 'Choose an interface' }];
  return html`<div class="stack">
    <div class="form-row">
      <${SelectField} label="Interface" value=${current?.name ?? ''} onChange=${setChosen} options=${[...none, ...options]} />
    </div>
    <${AbiForm} key=${address} address=${address} onChange=${() => { setChosen(null); request.reload(); }} />
    ${current && html`
      <h3>Read</h3><div>${functions.filter(isRead).map(form)}</div>
      <h3>Write</h3><${WalletPanel} wallet=${wallet} /><div>${functions.filter((one) => !isRead(one)).map(form)}</div>`}
  </div>`;
}
