// Payouts and splits: the list, and the upload of a CSV file with a preview.

import { describeError } from '../../lib/components/errors.js';
import { SelectField, TextField } from '../../lib/components/field.js';
import { Panel, Table } from '../../lib/components/table.js';
import { html, useId, useMemo, useState } from '../../lib/components/ui.js';
import { visibleName } from '../../lib/text.js';
import { Change, currentSession, may, segment, ServiceError } from '../api.js';
import { router } from '../context.js';
import { BASIS_POINTS, lineOfError, MAX_BYTES, parseRecipients } from '../csv.js';
import { Pages, usePages } from '../pages.js';
import { Account, amountText, parseAmount, Status } from '../shown.js';

/** @typedef {import('../types.js').Payout} Payout */
/** @typedef {import('../types.js').PayoutDetail} PayoutDetail */
/** @typedef {import('../csv.js').Leg} Leg */
/** @typedef {import('../csv.js').Problem} Problem */

const KINDS = [{ value: 'payout', label: 'Payout: an amount for each recipient' }, { value: 'split', label: 'Split: shares of one sum' }];

export const title = () => 'Payouts';

/** @param {{legs: Leg[], isSplit: boolean, total: bigint | null, decimals: number, symbol: string}} props */
function Preview({ legs, isSplit, total, decimals, symbol }) {
  const sum = isSplit ? total ?? 0n : legs.reduce((found, leg) => found + leg.amount, 0n);
  return html`<p role="status">${legs.length} recipients, ${amountText(sum, decimals)} ${symbol} in total</p>
    <${Table} caption="Preview" rows=${legs} rowKey=${(/** @type {Leg} */ leg) => String(leg.line)} columns=${[
      { label: 'Line', cell: (/** @type {Leg} */ leg) => leg.line, numeric: true },
      { label: 'Recipient', cell: (/** @type {Leg} */ leg) => html`<${Account} address=${leg.recipient} />` },
      isSplit ? { label: 'Share', cell: (/** @type {Leg} */ leg) => `${Number(leg.amount) / 100} %`, numeric: true }
        : { label: 'Amount', cell: (/** @type {Leg} */ leg) => `${amountText(leg.amount, decimals)} ${symbol}`, numeric: true },
      ...(isSplit && total !== null ? [{ label: 'About', cell: (/** @type {Leg} */ leg) =>
        `${amountText((total * leg.amount) / BASIS_POINTS, decimals)} ${symbol}`, numeric: true }] : []),
    ]} />`;
}

/** @param {{problems: Problem[]}} props */
function Problems({ problems }) {
  return html`<div class="notice notice-error" role="alert"><ul class="problems">
    ${problems.slice(0, 100).map(({ line, message }) => html`<li key=${`${line}-${message}`}>${line > 0 && `Line ${line}: `}${message}</li>`)}
  </ul></div>`;
}

/** @param {{destinations: import('../types.js').Destination[]}} props */
function Upload({ destinations }) {
  const input = useId();
  const [kind, setKind] = useState('payout');
  const [name, setName] = useState(destinations[0]?.name ?? '');
  const [text, setText] = useState(/** @type {string | null} */ (null));
  const [total, setTotal] = useState('');
  const [change] = useState(() => new Change());
  const [isSending, setIsSending] = useState(false);
  const [answer, setAnswer] = useState(/** @type {Problem[]} */ ([]));
  const destination = destinations.find((each) => each.name === name);
  const decimals = destination?.decimals ?? 0;
  const symbol = visibleName(destination?.symbol ?? '');
  const isSplit = kind === 'split';
  const sum = isSplit ? parseAmount(total, decimals) : null;
  const parsed = useMemo(() => (text === null ? null : parseRecipients(text, { decimals, isSplit })), [text, decimals, isSplit]);
  /** @param {{currentTarget: HTMLInputElement}} event */
  const choose = async ({ currentTarget }) => {
    const file = currentTarget.files?.[0];
    setAnswer([]);
    if (file === undefined) setText(null);
    else if (file.size > MAX_BYTES) {
      setText(null);
      setAnswer([{ line: 0, message: `The file has ${file.size} bytes, at most ${MAX_BYTES} are possible.` }]);
    } else setText(await file.text());
  };
  // Otherwise browsers report no change if the same file is chosen again after it was edited.
  /** @param {{currentTarget: HTMLInputElement}} event */
  const forget = ({ currentTarget }) => {
    currentTarget.value = '';
  };
  /** @param {Leg[]} legs */
  const send = async (legs) => {
    setIsSending(true);
    setAnswer([]);
    const body = isSplit
      ? { destination: name, total: String(sum), shares: legs.map((leg) => ({ recipient: leg.recipient, basis_points: Number(leg.amount) })) }
      : { destination: name, recipients: legs.map((leg) => ({ recipient: leg.recipient, amount: String(leg.amount) })) };
    try {
      const made = /** @type {PayoutDetail} */ (await change.send(isSplit ? '/v1/splits' : '/v1/payouts', body));
      router.navigate(`/payouts/${segment(made.payout.id)}`);
    } catch (error) {
      const line = error instanceof ServiceError ? lineOfError(error, legs) : null;
      setAnswer([{ line: line ?? 0, message: describeError(error) }]);
      setIsSending(false);
    }
  };
  const problems = [...(parsed?.problems ?? []), ...answer];
  const isReady = parsed !== null && parsed.problems.length === 0 && (!isSplit || sum !== null);
  return html`<div class="stack">
    <div class="form-row">
      <${SelectField} label="Kind" value=${kind} onChange=${setKind} options=${KINDS} />
      <${SelectField} label="From" value=${name} onChange=${setName}
        options=${destinations.map((each) => ({ value: each.name, label: `${visibleName(each.name)} (${visibleName(each.symbol)})` }))} />
      ${isSplit && html`<${TextField} label="Total" value=${total} onChange=${setTotal} inputmode="decimal"
        error=${total !== '' && sum === null ? 'must be an amount such as 12.50' : null} />`}
      <div class="field"><label for=${input}>CSV file</label>
        <input id=${input} class="input" type="file" accept=".csv,text/csv" onChange=${choose} onClick=${forget} aria-describedby=${`${input}-note`} />
        <p class="field-hint" id=${`${input}-note`}>Two columns: recipient, ${isSplit ? 'basis points' : 'amount in tokens'}</p></div>
    </div>
    ${problems.length > 0 && html`<${Problems} problems=${problems} />`}
    ${parsed !== null && parsed.problems.length === 0 && html`
      <${Preview} legs=${parsed.legs} isSplit=${isSplit} total=${sum} decimals=${decimals} symbol=${symbol} />
      <p><button type="button" class="button button-primary" disabled=${!isReady || isSending} onClick=${() => send(parsed.legs)}>
        ${isSending ? 'Sending…' : `Pay ${parsed.legs.length} recipients`}</button></p>`}
  </div>`;
}

export default function PayoutsPage() {
  /** @type {ReturnType<typeof usePages<Payout>>} */
  const list = usePages('/v1/payouts', {});
  const destinations = currentSession().destinations.filter((each) => each.pays_out);
  return html`<h1>Payouts</h1>
    ${may('POST /v1/payouts') && html`<${Panel} title="New payout">
      ${destinations.length === 0 ? html`<p class="empty">No destination has a payouts contract.</p>` : html`<${Upload} destinations=${destinations} />`}
    </${Panel}>`}
    <${Panel} title="Payouts">
      <${Pages} list=${list}><${Table} caption="Payouts, newest first" rows=${list.items} empty=${list.isLoading ? '' : 'No payouts.'}
        rowKey=${(/** @type {Payout} */ each) => each.id} columns=${[
          { label: 'Payout', cell: (/** @type {Payout} */ each) => html`<a class="mono" href=${router.href(`/payouts/${segment(each.id)}`)}>${each.id.slice(0, 14)}…</a>` },
          { label: 'Status', cell: (/** @type {Payout} */ each) => html`<${Status} ...${each} />` },
          { label: 'Amount', cell: (/** @type {Payout} */ each) => visibleName(each.amount_shown, 60), numeric: true },
          { label: 'Recipients', cell: (/** @type {Payout} */ each) => each.recipients.length, numeric: true },
        ]} /></${Pages}>
    </${Panel}>`;
}
