// Labelled form fields.

import { html, onValue, useId } from './ui.js';

/**
 * A text field with its label, a hint, and an error. `isCode` is for hex data, addresses and the like.
 * @param {{label: import('./ui.js').Child, value: string, onChange: (value: string) => void, hint?: string,
 *   error?: string | null, placeholder?: string, list?: string, inputmode?: string, isCode?: boolean}} props
 */
export function TextField({ label, value, onChange, hint, error, placeholder, list, inputmode, isCode = false }) {
  const id = useId();
  const note = error ?? hint;
  return html`<div class="field">
    <label for=${id}>${label}</label>
    <input id=${id} class=${isCode ? 'input mono' : 'input'} value=${value} onInput=${onValue(onChange)}
      placeholder=${placeholder} list=${list} inputmode=${inputmode} spellcheck="false" autocomplete="off"
      aria-invalid=${error ? 'true' : undefined} aria-describedby=${note ? `${id}-note` : undefined} />
    ${note && html`<p class=${error ? 'field-error' : 'field-hint'} id=${`${id}-note`}>${note}</p>`}
  </div>`;
}

/**
 * A choice of one option.
 * @param {{label: string, value: string, onChange: (value: string) => void,
 *   options: {value: string, label: string}[]}} props
 */
export function SelectField({ label, value, onChange, options }) {
  const id = useId();
  return html`<div class="field">
    <label for=${id}>${label}</label>
    <select id=${id} class="input" value=${value} onChange=${onValue(onChange)}>
      ${options.map((option) => html`<option key=${option.value} value=${option.value}>${option.label}</option>`)}
    </select>
  </div>`;
}
