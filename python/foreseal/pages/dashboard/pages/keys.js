// API keys and their roles.

import { Loaded } from '../../lib/components/errors.js';
import { SelectField, TextField } from '../../lib/components/field.js';
import { HexBlock } from '../../lib/components/hash.js';
import { useRequest } from '../../lib/components/request.js';
import { Badge, Panel, Table } from '../../lib/components/table.js';
import { Timestamp } from '../../lib/components/time.js';
import { html, useState } from '../../lib/components/ui.js';
import { visibleName } from '../../lib/text.js';
import { currentSession, get, may, segment } from '../api.js';
import { ActionButton } from '../dialog.js';

/** @typedef {import('../types.js').ApiKey} ApiKey */
/** @typedef {import('../types.js').ApiKeys} ApiKeys */
/** @typedef {import('../types.js').ApiKeySecret} ApiKeySecret */

const ROLES = [
  { value: 'reader', label: 'reader: reads' },
  { value: 'cashier', label: 'cashier: reads; orders, captures, voids' },
  { value: 'refunder', label: 'refunder: reads; refunds' },
  { value: 'admin', label: 'admin: everything' },
];

export const title = () => 'API keys';

/** @param {{onCreated: (made: ApiKeySecret) => void}} props */
function CreateKey({ onCreated }) {
  const [name, setName] = useState('');
  const [role, setRole] = useState('reader');
  /** @param {import('../api.js').Change} change */
  const send = async (change) => onCreated(await change.send('/v1/api-keys', { name: name.trim(), role }));
  return html`<${ActionButton} label="Create a key" title="Create an API key" confirm="Create" send=${send} isReady=${name.trim() !== ''}>
    ${() => html`<${TextField} label="Name" value=${name} onChange=${setName} />
      <${SelectField} label="Role" value=${role} onChange=${setRole} options=${ROLES} />`}
  </${ActionButton}>`;
}

/** @param {{row: ApiKey, onDone: () => void}} props */
function Revoke({ row, onDone }) {
  const isOwn = row.id === currentSession().key.id;
  return html`<${ActionButton} label="Revoke" title=${`Revoke ${visibleName(row.name)}?`} isDanger=${true} onDone=${onDone}
    send=${(/** @type {import('../api.js').Change} */ change) => change.send(`/v1/api-keys/${segment(row.id)}/revoke`)}>
    ${() => html`<p>Programs and sessions with this key stop working within a second. This cannot be undone.</p>
      ${isOwn && html`<p class="notice notice-warn">You are signed in with this key: your session ends.</p>`}`}
  </${ActionButton}>`;
}

export default function KeysPage() {
  const request = useRequest((signal) => /** @type {Promise<ApiKeys>} */ (get('/v1/api-keys', { signal })), []);
  const [made, setMade] = useState(/** @type {ApiKeySecret | null} */ (null));
  /** @param {ApiKeySecret} created */
  const onCreated = (created) => {
    setMade(created);
    request.reload();
  };
  return html`<h1>API keys</h1>
    ${made && html`<div class="notice notice-good" role="status">
      <p>${made.secret === null ? 'The key exists already; its text was shown before.'
        : `Store the key ${visibleName(made.api_key.name)} now: it is not shown again.`}</p>
      ${made.secret !== null && html`<${HexBlock} value=${made.secret} label="new API key" />`}
      <button type="button" class="button" onClick=${() => setMade(null)}>Done</button></div>`}
    <${Panel} title="Keys" aside=${may('POST /v1/api-keys') && html`<${CreateKey} onCreated=${onCreated} />`}>
      <${Loaded} request=${request}>${(/** @type {ApiKeys} */ { items }) => html`<${Table} caption="API keys, oldest first" rows=${items}
        rowKey=${(/** @type {ApiKey} */ row) => row.id} columns=${[
          { label: 'Name', cell: (/** @type {ApiKey} */ row) => visibleName(row.name, 64) },
          { label: 'Id', cell: (/** @type {ApiKey} */ row) => html`<span class="mono">${row.id}</span>` },
          { label: 'Role', cell: (/** @type {ApiKey} */ row) => row.role },
          { label: 'Created', cell: (/** @type {ApiKey} */ row) => html`<${Timestamp} ms=${row.created * 1000} />` },
          { label: 'State', cell: (/** @type {ApiKey} */ row) => (row.revoked === null ? html`<${Badge} tone="good">active</${Badge}>` : html`<${Badge}>revoked</${Badge}>`) },
          { label: '', cell: (/** @type {ApiKey} */ row) => row.revoked === null && may('POST /v1/api-keys/{id}/revoke') && html`<${Revoke} row=${row} onDone=${request.reload} />` },
        ]} />`}</${Loaded}>
    </${Panel}>`;
}
